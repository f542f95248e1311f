//! The events that a watch delivers together.

use std::future::poll_fn;
use std::task::Poll;

use futures::StreamExt as _;
use tokio::time::Instant;

use super::{Ended, Event, Source};

/// Maximum number of events taken at a time.
const BATCH: usize = 256;

/// Events that were taken from a watch, and its end if it came after them.
pub(super) struct Arrived<S: Source> {
    /// The events, in order.
    pub(super) events: Vec<Event<S::Object>>,
    end: Option<Ended<S::Error>>,
    is_full: bool,
}

// === impl Arrived ===

impl<S: Source> Arrived<S> {
    /// Waits for the next event or the end of the watch, and takes what has arrived with it. Takes nothing if it is
    /// dropped before it completes.
    pub(super) async fn next(&mut self, changes: &mut S::Changes) {
        self.is_full = false;
        let taking = poll_fn(|context| {
            while self.events.len() < BATCH {
                match changes.poll_next_unpin(context) {
                    Poll::Ready(Some(Ok(event))) => self.events.push(event),
                    Poll::Ready(Some(Err(error))) => {
                        self.end = Some(Ended::with::<S>(error));
                        return Poll::Ready(());
                    }
                    Poll::Ready(None) => {
                        self.end = Some(Ended::Closed);
                        return Poll::Ready(());
                    }
                    Poll::Pending if self.events.is_empty() => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(()),
                }
            }
            self.is_full = true;
            Poll::Ready(())
        });
        // The batch is bounded, and the caller yields between batches: a budget would only split what has arrived.
        tokio::task::unconstrained(taking).await;
    }

    /// Whether more events have arrived already, or may arrive in time.
    pub(super) fn may_continue(&self, until: Instant) -> bool {
        self.end.is_none() && (self.is_full || Instant::now() < until)
    }

    /// Takes the end of the watch, if it has ended.
    pub(super) const fn ended(&mut self) -> Option<Ended<S::Error>> {
        self.end.take()
    }
}

impl<S: Source> Default for Arrived<S> {
    fn default() -> Self {
        Self { events: Vec::new(), end: None, is_full: false }
    }
}
