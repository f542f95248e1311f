//! Answers on their way to clients that may be slow.
//!
//! A large answer is made while it is sent, so it is work until then: it keeps its place among the requests in flight,
//! and it has to be taken in time. From a client that stops reading everything is taken back when the time is over;
//! what remains are the connection's own buffers, which are bounded.
//!
//! Kubernetes concept: `WithMaxInFlightLimit` and `WithTimeoutForNonLongRunningRequests` go around the whole handler,
//! which writes the answer too.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::task::AbortOnDropHandle;

use super::in_flight::Place;

/// Answers up to this size are as good as sent: they fit into the connection's buffers.
const SMALL_BYTES: u64 = 64 * 1024;

/// An answer that is being sent.
struct Sending {
    held: Arc<Held>,
    _timer: AbortOnDropHandle<()>,
}

/// What the answer holds; `None` when it was sent, or taken back.
type Held = Mutex<Option<(Body, Option<Place>)>>;

/// The client did not take its answer in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer was not taken in time")]
struct NotTaken;

/// The answer, given up when it is not taken until the deadline. Answers without a deadline take as long as they like.
pub(super) fn within(
    deadline: Option<Instant>,
    place: Option<Place>,
    response: Response<Body>,
) -> Response<Body> {
    let is_small = response.body().size_hint().exact().is_some_and(|bytes| bytes <= SMALL_BYTES);
    let Some(deadline) = deadline.filter(|_| !is_small) else { return response };
    response.map(|body| {
        let held = Arc::new(Mutex::new(Some((body, place))));
        let timed = held.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            drop(lock(&timed).take());
        });
        Body::new(Sending { held, _timer: AbortOnDropHandle::new(timer) })
    })
}

fn lock(held: &Held) -> MutexGuard<'_, Option<(Body, Option<Place>)>> {
    // Who sends and who gives up are the only two.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Sending ===

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *lock(&self.held) {
            Some((body, _)) => Pin::new(body).poll_frame(task),
            None => Poll::Ready(Some(Err(axum::Error::new(NotTaken)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.held).as_ref().is_some_and(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.held).as_ref().map_or_else(SizeHint::default, |(body, _)| body.size_hint())
    }
}
