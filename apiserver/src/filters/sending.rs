//! Sending of responses to clients that may be slow.
//!
//! A large response is produced while it is sent. Until then it keeps its place among the requests in flight, and the
//! client has to read it in time. While the client does not read, others may have its seats. At the deadline, or when the
//! client reads nothing for a while, the response and its place are dropped; the connection's own buffers remain, which
//! are bounded.
//!
//! Kubernetes concept: `WithMaxInFlightLimit` and `WithTimeoutForNonLongRunningRequests` wrap the whole
//! handler, which writes the response too.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use responses::{Response, ResponseBody};
use tokio_util::task::AbortOnDropHandle;

use super::in_flight::Place;

/// Time after which a response that the client does not read gives its seats back.
const STALLED_AFTER: Duration = Duration::from_millis(250);
/// Time after which a response is dropped if the client reads nothing of it.
const MAX_STALL: Duration = Duration::from_secs(10);

/// A response that is being sent.
struct Sending {
    held: Arc<Held>,
    _timer: AbortOnDropHandle<()>,
}

/// The response; `None` when it was sent or dropped. Only the connection and the timer use it.
type Held = Mutex<Option<Answer>>;

struct Answer {
    body: ResponseBody,
    place: Place,
    /// When the client last read a part; `None` while the next part is being produced.
    taken_at: Option<Instant>,
    /// The connection's waker, while it waits for the next part.
    waiting: Option<Waker>,
}

/// The client did not read the response in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer was not taken in time")]
struct NotTaken;

/// Returns the response with its place. With a deadline it is dropped when the client has not read it until
/// then, or reads nothing for [`MAX_STALL`].
pub(super) fn within(deadline: Option<Instant>, place: Place, mut response: Response) -> Response {
    if response.body().is_small() {
        return response;
    }
    let Some(deadline) = deadline else {
        response.body_mut().keep(place);
        return response;
    };
    response.map(|body| {
        body.wrapped(|body| {
            let answer = Answer { body, place, taken_at: Some(now()), waiting: None };
            let held = Arc::new(Mutex::new(Some(answer)));
            let timer = tokio::spawn(give_up(held.clone(), deadline));
            Sending { held, _timer: AbortOnDropHandle::new(timer) }
        })
    })
}

/// Drops the response at its deadline, or when the client stops reading.
async fn give_up(held: Arc<Held>, deadline: Instant) {
    loop {
        let Some((since, has_stalled)) = progress(&held) else { return };
        let given_up_at = (since + MAX_STALL).min(deadline);
        if now() >= given_up_at {
            break;
        }
        let next = if has_stalled { given_up_at } else { (since + STALLED_AFTER).min(given_up_at) };
        tokio::time::sleep_until(next.into()).await;
    }
    // Dropped after the lock is released, as this may release much memory.
    let given_up = held.lock().take();
    if let Some(connection) = given_up.and_then(|answer| answer.waiting) {
        connection.wake();
    }
}

/// Returns since when the client has not read, and whether that is long enough for the seats to be given back, which it
/// does. Returns `None` when the response was sent.
fn progress(held: &Held) -> Option<(Instant, bool)> {
    let mut held = held.lock();
    let answer = held.as_mut()?;
    let since = answer.taken_at.unwrap_or_else(now);
    let has_stalled = now() >= since + STALLED_AFTER;
    if has_stalled {
        answer.place.stalled();
    }
    Some((since, has_stalled))
}

/// Returns the time by the runtime's clock, which the timer uses.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

// === impl Sending ===

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self.held.lock() {
            Some(answer) => {
                let frame = Pin::new(&mut answer.body).poll_frame(task);
                answer.taken_at = frame.is_ready().then(now);
                answer.waiting = frame.is_pending().then(|| task.waker().clone());
                frame
            }
            None => Poll::Ready(Some(Err(axum::Error::new(NotTaken)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.held.lock().as_ref().is_some_and(|answer| answer.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.held.lock().as_ref().map_or_else(SizeHint::default, |answer| answer.body.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures::StreamExt as _;
    use http_body_util::BodyExt as _;

    use super::*;
    use responses::Delivery;

    const PART: Bytes = Bytes::from_static(&[b'x'; 1000]);

    /// Returns a response that produces a part at each interval.
    fn answer(parts: usize, every: Duration) -> Response {
        let parts = futures::stream::iter(0..parts).then(move |_| async move {
            tokio::time::sleep(every).await;
            Ok::<_, std::convert::Infallible>(PART)
        });
        Response::new(Delivery::Stream(Body::from_stream(parts)).into())
    }

    fn deadline() -> Instant {
        now() + Duration::from_mins(1)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_is_given_up_early() {
        let mut body = within(Some(deadline()), Place::default(), answer(10, Duration::ZERO)).into_body();
        assert!(body.frame().await.unwrap().is_ok());
        tokio::time::sleep(MAX_STALL / 2).await;
        assert!(body.frame().await.unwrap().is_ok(), "slow is not stalled");
        tokio::time::sleep(MAX_STALL + Duration::from_secs(1)).await;
        assert!(body.frame().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_long_to_make_is_not_the_clients_fault() {
        let slow = answer(2, MAX_STALL * 2);
        let collected = within(Some(deadline()), Place::default(), slow).into_body().collect().await.unwrap();
        assert_eq!(collected.to_bytes().len(), 2 * PART.len());
        let too_slow = answer(4, MAX_STALL * 2);
        assert!(
            within(Some(deadline()), Place::default(), too_slow).into_body().collect().await.is_err(),
            "the deadline holds"
        );
    }
}
