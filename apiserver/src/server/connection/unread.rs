//! Reads the rest of a request's body that the handler has not read.
//!
//! An HTTP/1.1 connection can only continue after the body was read: if a request is refused before that (no
//! such path, not allowed), the connection would be closed while the client may be about to send its next
//! request. Short bodies are therefore read to their end, as in Go's server.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderMap, HeaderValue};
use http::{Request, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// Maximum number of bytes that are read and discarded; the connection is closed if a body is longer.
const MAX_UNREAD_BYTES: usize = 256 * 1024;
/// Maximum time for reading them.
const PATIENCE: Duration = Duration::from_secs(5);

/// Receives a body that was dropped before its end.
pub(super) struct Unread(Option<Arc<Slot>>);

type Slot = Mutex<Option<Incoming>>;

/// A body that is returned when it is dropped.
struct LentBody {
    inner: Option<Incoming>,
    slot: Arc<Slot>,
}

/// Replaces a request's body by one that is returned when the handler drops it.
pub(super) fn lend(request: Request<Incoming>) -> (Request<Body>, Unread) {
    if request.version() == Version::HTTP_2 || request.body().is_end_stream() {
        return (request.map(Body::new), Unread(None));
    }
    let slot = Arc::new(Slot::default());
    let lent = request.map(|inner| Body::new(LentBody { inner: Some(inner), slot: slot.clone() }));
    (lent, Unread(Some(slot)))
}

// === impl Unread ===

impl Unread {
    /// Reads the rest of the body, or sets the header that announces the end of the connection.
    pub(super) async fn finish(self, headers: &mut HeaderMap) {
        let Some(slot) = self.0 else { return };
        let body = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body else { return };
        if !matches!(tokio::time::timeout(PATIENCE, read_to_end(body)).await, Ok(true)) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Returns whether the body ends within the limits.
async fn read_to_end(mut body: Incoming) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MAX_UNREAD_BYTES {
            return false;
        }
    }
    true
}

// === impl LentBody ===

impl HttpBody for LentBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take()
            && !inner.is_end_stream()
        {
            *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(inner);
        }
    }
}
