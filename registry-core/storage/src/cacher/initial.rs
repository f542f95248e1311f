//! The start of a watch: the current objects, sent in batches as the client consumes them.
//!
//! The objects come from a snapshot, which costs nothing while nothing changes. The old states it holds are not
//! counted, so a watch may use it only as long as the history lasts: a client that stalled longer must list again,
//! and its snapshot is released even if it is not being polled.

use std::collections::VecDeque;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use crate::entry::StoredObject;
use crate::error::WatchError;
use crate::interface::WatchEvent;
use crate::mvcc::prefix_end;
use crate::predicate::Predicate;

use super::snapshots::{Snapshot, StandingSnapshot};
use super::state::CacheState;

/// Number of objects examined at a time.
const BATCH: usize = 64;

/// The initial objects of a watch, and the bookmark that follows them if requested.
pub(super) struct Initial {
    state: Arc<CacheState>,
    standing: Arc<StandingSnapshot>,
    prefix: Box<str>,
    end: Box<str>,
    predicate: Predicate,
    closes: bool,
    /// The last key examined.
    last: Option<Arc<str>>,
    ready: VecDeque<StoredObject>,
    is_done: bool,
}

// === impl Initial ===

impl Initial {
    /// Selects the objects of a snapshot below a prefix that match a selector.
    pub(super) fn new(
        state: Arc<CacheState>,
        snapshot: Snapshot,
        prefix: &str,
        predicate: &Predicate,
        closes: bool,
    ) -> Self {
        Self {
            standing: state.standing.stand(snapshot),
            state,
            prefix: prefix.into(),
            end: prefix_end(prefix).into(),
            predicate: predicate.clone(),
            closes,
            last: None,
            ready: VecDeque::new(),
            is_done: false,
        }
    }

    /// Takes the next objects from the snapshot; records when there are no more.
    ///
    /// # Errors
    /// Fails if the snapshot was released.
    fn fill(&mut self) -> Result<(), WatchError> {
        // Cloned, so that others do not wait while objects are matched.
        let Some(snapshot) = self.standing.snapshot() else {
            self.is_done = true;
            return Err(WatchError::Compacted {
                requested: self.standing.revision(),
                oldest: self.state.floor().unwrap_or_default(),
            });
        };
        let start = match &self.last {
            Some(last) => Bound::Excluded(&**last),
            None => Bound::Included(&*self.prefix),
        };
        let mut looked_at = 0;
        for (key, object) in
            snapshot.objects.range::<_, str>((start, Bound::Excluded(&*self.end))).take(BATCH)
        {
            looked_at += 1;
            self.last = Some(key.clone());
            let below = self.prefix.ends_with('/') || **key == *self.prefix;
            if below && self.predicate.selects(object) {
                self.ready.push_back(object.clone());
            }
        }
        self.is_done = looked_at < BATCH;
        self.state.metrics.initialized_watch(self.ready.len());
        Ok(())
    }
}

impl Stream for Initial {
    type Item = Result<WatchEvent, WatchError>;

    /// Is pending between two batches, so that matching long selectors does not keep others from the thread.
    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let own = self.get_mut();
        let mut has_filled = false;
        loop {
            if let Some(object) = own.ready.pop_front() {
                return Poll::Ready(Some(Ok(WatchEvent::Added(object))));
            }
            if own.is_done {
                let bookmark =
                    WatchEvent::Bookmark { revision: own.standing.revision(), initial_events_end: true };
                return Poll::Ready(std::mem::take(&mut own.closes).then_some(Ok(bookmark)));
            }
            if std::mem::replace(&mut has_filled, true) {
                task.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Err(error) = own.fill() {
                own.closes = false;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}
