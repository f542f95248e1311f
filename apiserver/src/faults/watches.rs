//! The watches that are open, so that rules can end them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use parking_lot::Mutex;
use registry_core::api::StatusError;
use request_info::RequestInfo;
use responses::{Events, Pieces, Response};
use tokio::task::unconstrained;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::rule::{Selection, Target};

/// The watches that are open.
#[derive(Default)]
pub(super) struct OpenWatches(Mutex<Vec<Weak<Watched>>>);

/// A watch that is about to begin.
pub(crate) struct OpenWatch(Arc<Watched>);

/// A watch, as rules see it.
struct Watched {
    info: RequestInfo,
    user: String,
    user_agent: String,
    end: CancellationToken,
    /// Whether it ends with an event that says that it is too old.
    expires: AtomicBool,
}

/// The events of a watch until it is ended.
struct Endable {
    events: Box<dyn Events>,
    watched: Arc<Watched>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    is_json: bool,
    is_done: bool,
}

/// Returns the failure of a watch that is too old.
pub(super) fn expired() -> StatusError {
    StatusError::expired("The resourceVersion for the provided watch is too old.")
}

/// Returns the event of that failure, in JSON.
pub(super) fn expired_event() -> Bytes {
    format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", expired().to_json().trim_end()).into()
}

// === impl OpenWatches ===

impl OpenWatches {
    /// Adds a watch.
    pub(super) fn open(&self, target: &Target<'_>) -> OpenWatch {
        let watched = Arc::new(Watched {
            info: target.info.clone(),
            user: target.user.to_owned(),
            user_agent: target.user_agent.clone(),
            end: CancellationToken::new(),
            expires: AtomicBool::new(false),
        });
        let mut watches = self.0.lock();
        watches.retain(|watch| watch.strong_count() > 0);
        watches.push(Arc::downgrade(&watched));
        OpenWatch(watched)
    }

    /// Ends the selected watches, and returns their number.
    pub(super) fn end(&self, selection: &Selection, expires: bool) -> usize {
        let mut ended = 0;
        for watched in self.0.lock().iter().filter_map(Weak::upgrade) {
            if watched.end.is_cancelled() || !selection.includes(&watched.target()) {
                continue;
            }
            watched.expires.store(expires, Ordering::Release);
            watched.end.cancel();
            ended += 1;
        }
        ended
    }
}

// === impl Watched ===

impl Watched {
    fn target(&self) -> Target<'_> {
        Target { info: &self.info, user: &self.user, user_agent: self.user_agent.clone(), accepts_json: true }
    }
}

// === impl OpenWatch ===

impl OpenWatch {
    /// Lets the watch of a response end by rule.
    pub(crate) fn follow(self, response: Response) -> Response {
        let content_type = response.headers().get(http::header::CONTENT_TYPE);
        let is_json = content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let ended = Box::pin(self.0.end.clone().cancelled_owned());
        let follow = |events| -> Box<dyn Events> {
            Box::new(Endable { events, watched: self.0, ended, is_json, is_done: false })
        };
        response.map(|body| body.map_events(follow))
    }
}

// === impl Endable ===

impl Body for Endable {
    type Data = Pieces;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, Infallible>>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let mut ended = unconstrained(self.ended.as_mut());
        if Pin::new(&mut ended).poll(task).is_ready() {
            self.is_done = true;
            let says_why = self.is_json && self.watched.expires.load(Ordering::Acquire);
            return Poll::Ready(says_why.then(|| Ok(Frame::data(Pieces::from(expired_event())))));
        }
        Pin::new(&mut self.events).poll_frame(task)
    }
}

impl Events for Endable {
    fn keep_until_initialized(&mut self, value: Box<dyn Send>, at_most: Duration) {
        self.events.keep_until_initialized(value, at_most);
    }
}
