//! The body of a watch: all events that are ready are sent together, without waiting for more.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Buf as _;
use futures::StreamExt;
use http_body::{Body, Frame};
use registry_core::rest::Watcher;
use registry_core::storage::WatchStream;
use responses::{Events, Pieces};
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::ending::Ending;
use super::Frames;
use super::initializing::Initializing;

/// Approximate maximum size of the pieces of a stream.
const BATCH_BYTES: usize = 64 * 1024;
/// Time between two checks whether the watch of a removed resource has sent all its events.
const DRAIN_PAUSE: Duration = Duration::from_millis(50);
/// Maximum time that the watch of a removed resource continues: somewhat more than one conversion takes.
const MAX_DRAIN: Duration = Duration::from_secs(35);

/// A watch as a body. Ends at its timeout, at shutdown, or after the stream's first error.
pub(super) struct WatchBody {
    events: WatchStream,
    frames: Frames,
    /// The deadline, stored here because checking it is cheaper than polling the timer.
    end: Instant,
    timeout: Pin<Box<Sleep>>,
    ending: Ending,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The task that is woken at the timeout and at shutdown.
    task: Option<Waker>,
    /// The source of the events, of which those that are being converted are sent before the watch of a removed resource
    /// ends.
    watcher: Option<Arc<dyn Watcher>>,
    /// The time at which the watch of a removed resource ends, whatever is still being converted.
    drained_until: Option<Instant>,
    /// The time of the next look at it.
    drain_pause: Option<Pin<Box<Sleep>>>,
    /// Whether `end` is the one of the shutdown.
    is_ending: bool,
    is_done: bool,
    /// Approximate maximum size of one piece.
    batch_bytes: usize,
    _running: TaskTrackerToken,
    /// Dropped when there is nothing more to write for the first time.
    initializing: Option<Initializing>,
}

// === impl WatchBody ===

impl WatchBody {
    /// Returns a body of these events as frames.
    pub(super) fn new(events: WatchStream, frames: Frames, timeout: Duration, ending: Ending) -> Self {
        let end = Instant::now() + timeout;
        Self {
            events,
            frames,
            end,
            timeout: Box::pin(sleep_until(end)),
            ended: Box::pin(ending.wait()),
            _running: ending.running(),
            ending,
            task: None,
            watcher: None,
            drained_until: None,
            drain_pause: None,
            is_ending: false,
            is_done: false,
            batch_bytes: BATCH_BYTES,
            initializing: None,
        }
    }

    /// Returns a body that sends the events of this source that are being converted before it ends because its resource is
    /// removed: the last ones say that the objects were deleted.
    pub(super) fn drained(self, watcher: Arc<dyn Watcher>) -> Self {
        Self { watcher: Some(watcher), ..self }
    }

    /// Returns whether events have to be sent before the watch of a removed resource ends. The task is woken to look again.
    fn drains(&mut self, task: &mut Context<'_>) -> bool {
        let Some(watcher) = self.watcher.as_ref().filter(|_| self.ending.is_removed()) else { return false };
        let until = *self.drained_until.get_or_insert_with(|| Instant::now() + MAX_DRAIN);
        if Instant::now() >= until || !watcher.is_converting() {
            return false;
        }
        // The conversion may be another watcher's, whose end wakes nobody here.
        let next_look = || Instant::now() + DRAIN_PAUSE;
        let pause = self.drain_pause.get_or_insert_with(|| Box::pin(sleep_until(next_look())));
        while Pin::new(&mut unconstrained(pause.as_mut())).poll(task).is_ready() {
            pause.as_mut().reset(next_look());
        }
        true
    }

    /// Returns the body with each event as a piece of its own.
    pub(super) fn single(self) -> Self {
        Self { batch_bytes: 1, ..self }
    }

    /// Returns whether the watch has to end. The task is usually registered already, so that checking the
    /// time is enough.
    fn is_over(&mut self, task: &mut Context<'_>) -> bool {
        if self.task.as_ref().is_some_and(|known| known.will_wake(task.waker())) {
            return Instant::now() >= self.end || (self.ending.is_ending() && self.ends_now(task));
        }
        self.task = Some(task.waker().clone());
        // Both futures have to register the task even if its cooperative budget is exhausted: they are polled
        // only once.
        let mut timeout = unconstrained(self.timeout.as_mut());
        let mut ended = unconstrained(self.ended.as_mut());
        if Pin::new(&mut timeout).poll(task).is_ready() {
            return true;
        }
        Pin::new(&mut ended).poll(task).is_ready() && self.ends_now(task)
    }

    /// Returns whether the watch has to end now, at the shutdown or because its resource is no longer served. Otherwise it
    /// continues until its turn comes.
    fn ends_now(&mut self, task: &mut Context<'_>) -> bool {
        if !self.is_ending {
            let Some(end) = self.ending.end_of_one() else { return !self.drains(task) };
            self.is_ending = true;
            self.end = self.end.min(end);
            self.timeout.as_mut().reset(self.end);
        }
        Pin::new(&mut unconstrained(self.timeout.as_mut())).poll(task).is_ready()
    }

    /// Returns all frames that are ready, up to a batch; records when there will be no more.
    fn fill(&mut self, task: &mut Context<'_>) -> Pieces {
        let mut batch = Pieces::default();
        while batch.remaining() < self.batch_bytes {
            match self.events.poll_next_unpin(task) {
                Poll::Ready(Some(Ok(event))) => {
                    if let Err(failure) = self.frames.write(&mut batch, event) {
                        tracing::error!(%failure, "a watch ended: an object cannot be written");
                        self.frames.write_failure(&mut batch, &failure);
                        self.is_done = true;
                        break;
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "a watch ended");
                    self.frames.write_error(&mut batch, &error);
                    self.is_done = true;
                    break;
                }
                Poll::Ready(None) => {
                    self.is_done = true;
                    break;
                }
                Poll::Pending => break,
            }
        }
        batch
    }
}

impl Body for WatchBody {
    type Data = Pieces;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, Infallible>>> {
        if self.is_done {
            self.initializing = None;
            return Poll::Ready(None);
        }
        if let Some(initializing) = &self.initializing {
            initializing.progress();
        }
        let batch = self.fill(task);
        if batch.has_remaining() {
            // A full batch is followed by another poll, which would find the end; but not if there is always
            // more.
            self.is_done = self.is_done || (batch.remaining() >= self.batch_bytes && self.is_over(task));
            return Poll::Ready(Some(Ok(Frame::data(batch))));
        }
        self.initializing = None;
        self.is_done = self.is_done || self.is_over(task);
        if !self.is_done {
            return Poll::Pending;
        }
        Poll::Ready(None)
    }
}

impl Events for WatchBody {
    fn keep_until_initialized(&mut self, value: Box<dyn Send>, at_most: Duration) {
        self.initializing = Some(Initializing::new(value, at_most));
    }
}
