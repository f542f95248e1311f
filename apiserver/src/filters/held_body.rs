//! A body that keeps a value until it is sent or dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// A body, and a value that is dropped with it.
pub(super) struct HeldBody<T> {
    inner: Body,
    _held: T,
}

impl<T> HeldBody<T> {
    /// Keeps `held` as long as `inner`.
    pub(super) fn new(inner: Body, held: T) -> Self {
        Self { inner, _held: held }
    }
}

impl<T: Unpin> HttpBody for HeldBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
