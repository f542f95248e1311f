//! Reads the rest of a request's body that the handler has not read.
//!
//! A request is often answered before its body was read: no such path, not allowed, too large, too many requests.
//!
//! - An HTTP/1.1 connection can only continue after the body was read; it would be closed while the client may be about
//!   to send its next request. Short bodies are therefore read to their end before the response, as in Go's server. After
//!   the response to a longer one the connection ends, but what still arrives is read and discarded: otherwise the system
//!   resets the connection, by which clients lose a response that they have not read yet.
//! - An HTTP/2 stream may be reset with `NO_ERROR` after the response (RFC 9113, 8.1). Clients that are still sending lose
//!   the response by it: curl 7.88 reports the reset instead, httpcore any reset at all. The response is therefore sent at
//!   once, and what follows of the body is read and discarded, so that the client ends the stream by itself.
//!
//! Both are bounded in bytes and time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderMap, HeaderValue};
use http::{Request, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Maximum number of bytes that are read before the response over HTTP/1.1; the connection is closed if a body is longer.
const MAX_UNREAD_BYTES: usize = 256 * 1024;
/// Maximum time for reading them.
const PATIENCE: Duration = Duration::from_secs(5);
/// Size of the buffer for what arrives on a connection and is discarded.
const DRAIN_BUFFER_BYTES: usize = 16 * 1024;
/// Maximum number of bytes of an HTTP/2 stream, or after the last response of an HTTP/1.1 connection, that are discarded:
/// five times the largest body that is accepted. The stream is reset if its body is longer.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;
/// Maximum time for discarding them.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(30);
/// The same once the server stops.
const DISCARD_TIMEOUT_AT_STOP: Duration = Duration::from_secs(1);

/// Reads the bodies of a connection's requests that were dropped before their end.
pub(super) struct Discarding {
    threads: Handle,
    stopping: CancellationToken,
    /// Whether the connection ends within an HTTP/1.1 body.
    ends_within_body: AtomicBool,
}

/// Receives a body that was dropped before its end.
pub(super) struct Unread(Option<Arc<Slot>>);

type Slot = Mutex<Option<Incoming>>;

/// A body that is passed on when it is dropped before its end.
struct LentBody {
    inner: Option<Incoming>,
    rest: Rest,
}

/// The recipient of the rest of a body.
enum Rest {
    /// Reads it before the response.
    Before(Arc<Slot>),
    /// Discards it while and after the response is sent.
    Beside(Arc<Discarding>),
}

/// Replaces a request's body by one that is passed on when the handler drops it.
pub(super) fn lend(request: Request<Incoming>, discarding: &Arc<Discarding>) -> (Request<Body>, Unread) {
    if request.body().is_end_stream() {
        return (request.map(Body::new), Unread(None));
    }
    let (rest, unread) = if request.version() == Version::HTTP_2 {
        (Rest::Beside(discarding.clone()), Unread(None))
    } else {
        let slot = Arc::new(Slot::default());
        (Rest::Before(slot.clone()), Unread(Some(slot)))
    };
    (request.map(|inner| Body::new(LentBody { inner: Some(inner), rest })), unread)
}

/// Returns whether the body ends after at most this number of bytes.
async fn read_to_end(mut body: impl HttpBody<Data = Bytes> + Unpin, max_bytes: usize) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > max_bytes {
            return false;
        }
    }
    true
}

/// Reads what arrives on a connection, until it ends or this number of bytes has been read.
pub(super) async fn read_stream(mut stream: impl AsyncRead + Unpin, max_bytes: usize) {
    let mut buffer = vec![0; DRAIN_BUFFER_BYTES];
    let mut left = max_bytes;
    while left > 0 {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => left = left.saturating_sub(read),
        }
    }
}

// === impl Unread ===

impl Unread {
    /// Reads the rest of the body, or sets the header that announces the end of the connection.
    pub(super) async fn finish(self, headers: &mut HeaderMap, discarding: &Discarding) {
        let Some(slot) = self.0 else { return };
        let body = slot.lock().take();
        let Some(body) = body else { return };
        if !matches!(tokio::time::timeout(PATIENCE, read_to_end(body, MAX_UNREAD_BYTES)).await, Ok(true)) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
            discarding.ends_within_body.store(true, Ordering::Relaxed);
        }
    }
}

// === impl Discarding ===

impl Discarding {
    /// Discards on the threads of the caller, only briefly after `stopping`.
    pub(super) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self { threads: Handle::current(), stopping, ends_within_body: AtomicBool::new(false) })
    }

    /// Reads what arrives on an HTTP/1.1 connection after its last response, within the limits, if it is the rest of a body.
    pub(super) async fn drain(&self, stream: impl AsyncRead + Unpin) {
        if !self.ends_within_body.load(Ordering::Relaxed) {
            return;
        }
        tokio::select! {
            _ = tokio::time::timeout(PATIENCE, read_stream(stream, MAX_DISCARDED_BYTES)) => {}
            () = self.stopped() => {}
        }
    }

    /// Ends some time after the server has begun to stop.
    async fn stopped(&self) {
        self.stopping.cancelled().await;
        tokio::time::sleep(DISCARD_TIMEOUT_AT_STOP).await;
    }

    /// Reads a body to its end, within the limits. A body that has not ended then is dropped, which resets its stream with
    /// `NO_ERROR` once the response is complete.
    fn discard(self: &Arc<Self>, body: impl HttpBody<Data = Bytes> + Send + Unpin + 'static) {
        let own = self.clone();
        self.threads.spawn(async move {
            tokio::select! {
                _ = tokio::time::timeout(DISCARD_TIMEOUT, read_to_end(body, MAX_DISCARDED_BYTES)) => {}
                () = own.stopped() => {}
            }
        });
    }
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
        let Some(inner) = self.inner.take().filter(|inner| !inner.is_end_stream()) else { return };
        match &self.rest {
            Rest::Before(slot) => *slot.lock() = Some(inner),
            Rest::Beside(discarding) => discarding.discard(inner),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::StreamBody;
    use tokio::time::Instant;

    use super::*;

    /// Discards a body that stays incomplete, and returns the time after which it is dropped.
    async fn time_of_discarding(stopping: &CancellationToken) -> Duration {
        let dropped = CancellationToken::new();
        let guard = dropped.clone().drop_guard();
        let body = futures::stream::unfold(guard, |guard| async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x"))), guard))
        });
        let begun = Instant::now();
        Discarding::new(stopping.clone()).discard(StreamBody::new(Box::pin(body)));
        dropped.cancelled().await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_is_dropped_in_time() {
        let stopping = CancellationToken::new();
        assert_eq!(time_of_discarding(&stopping).await.as_secs(), DISCARD_TIMEOUT.as_secs());
        stopping.cancel();
        assert_eq!(time_of_discarding(&stopping).await.as_secs(), DISCARD_TIMEOUT_AT_STOP.as_secs());
    }
}
