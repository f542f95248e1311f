//! How a watch begins: with the present objects, given piece by piece as the client takes them.
//!
//! The state they are taken from is one snapshot, which costs nothing while nothing changes. What it holds of the past
//! nobody counts, so a watch may stand in it only as long as the history lasts: a client that stalled longer is observed to
//! list again, and what it held is let go although it does not even listen.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use crate::storage::entry::StoredObject;
use crate::storage::error::WatchError;
use crate::storage::interface::WatchEvent;
use crate::storage::mvcc::prefix_end;
use crate::storage::predicate::Predicate;

use super::snapshots::{Snapshot, StandingSnapshot};
use super::state::CacheState;

/// How many objects are looked at in one go.
const BATCH: usize = 64;

/// The present objects a watch begins with, and the bookmark that closes them if it is wanted.
pub(super) struct Initial {
    state: Arc<CacheState>,
    standing: Arc<StandingSnapshot>,
    prefix: Box<str>,
    end: Box<str>,
    predicate: Predicate,
    closes: bool,
    /// The last key that was looked at.
    last: Option<Arc<str>>,
    ready: VecDeque<StoredObject>,
    is_done: bool,
}

// === impl Initial ===

impl Initial {
    /// The objects of a snapshot below a prefix that a selector matches.
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

    /// Takes the next objects from the snapshot; notes when there are no more.
    ///
    /// # Errors
    /// The snapshot was taken away.
    fn fill(&mut self) -> Result<(), WatchError> {
        // Cloned, so that nobody waits for this one's matching.
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
            if below && self.predicate.matches(&object.attributes) {
                self.ready.push_back(object.clone());
            }
        }
        self.is_done = looked_at < BATCH;
        self.state.metrics.initialized_watch(self.ready.len());
        Ok(())
    }
}

impl Iterator for Initial {
    type Item = Result<WatchEvent, WatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.ready.pop_front() {
                return Some(Ok(WatchEvent::Added(object)));
            }
            if self.is_done {
                let bookmark =
                    WatchEvent::Bookmark { revision: self.standing.revision(), initial_events_end: true };
                return std::mem::take(&mut self.closes).then_some(Ok(bookmark));
            }
            if let Err(error) = self.fill() {
                self.closes = false;
                return Some(Err(error));
            }
        }
    }
}
