//! The events that a watch delivers together.

use std::future::poll_fn;
use std::task::Poll;

use futures::StreamExt as _;
use tokio::time::Instant;

use crate::storage::{WatchEvent, WatchStream};

use super::ended::Ended;

/// Maximum number of events taken at a time.
const BATCH: usize = 256;

/// Events that were taken from a watch, and its end if it came after them.
#[derive(Default)]
pub(super) struct Arrived {
    /// The events, in order.
    pub(super) events: Vec<WatchEvent>,
    end: Option<Ended>,
    is_full: bool,
}

// === impl Arrived ===

impl Arrived {
    /// Waits for the next event or the end of the watch, and takes what has arrived with it. Takes nothing if it is
    /// dropped before it completes.
    pub(super) async fn next(&mut self, stream: &mut WatchStream) {
        self.is_full = false;
        let taking = poll_fn(|context| {
            while self.events.len() < BATCH {
                match stream.poll_next_unpin(context) {
                    Poll::Ready(Some(Ok(event))) => self.events.push(event),
                    Poll::Ready(Some(Err(error))) => {
                        self.end = Some(Ended::from_watch(&error));
                        return Poll::Ready(());
                    }
                    Poll::Ready(None) => {
                        self.end = Some(Ended::closed());
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

    /// Takes the end of the watch.
    ///
    /// # Errors
    /// Fails if the watch has ended.
    pub(super) fn ended(&mut self) -> Result<(), Ended> {
        self.end.take().map_or(Ok(()), Err)
    }
}
