//! How a watch begins: with the present objects, given piece by piece as the client takes them.
//!
//! The state they are taken from is one snapshot, which costs nothing while nothing changes. What it holds of the past
//! nobody counts, so a watch may stand in it only as long as the history lasts: a client that stalled longer is told to
//! list again, and what it held is let go although it does not even listen.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::Revision;
use crate::storage::entry::StoredObject;
use crate::storage::error::WatchError;
use crate::storage::interface::WatchEvent;
use crate::storage::mvcc::prefix_end;
use crate::storage::predicate::Predicate;

use super::state::{Snapshot, State};

/// How many objects are looked at in one go.
const BATCH: usize = 64;

/// A snapshot that is held by those who stand in it, until it is taken from them.
pub(super) struct StandingSnapshot {
    revision: Revision,
    snapshot: Mutex<Option<Snapshot>>,
}

/// The snapshots in which somebody stands, the oldest first.
#[derive(Default)]
pub(super) struct StandingSnapshots(Mutex<VecDeque<Arc<StandingSnapshot>>>);

/// The present objects a watch begins with, and the bookmark that closes them if it is wanted.
pub(super) struct Initial {
    state: Arc<State>,
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

// === impl StandingSnapshots ===

impl StandingSnapshots {
    /// Stands in a snapshot, together with whoever stands in the same.
    fn stand(&self, snapshot: Snapshot) -> Arc<StandingSnapshot> {
        let mut all = self.lock();
        // Only this list holds it: everybody has left.
        all.retain(|one| Arc::strong_count(one) > 1);
        if let Some(same) = all.iter().find(|one| one.revision == snapshot.revision) {
            return same.clone();
        }
        let revision = snapshot.revision;
        let standing = Arc::new(StandingSnapshot { revision, snapshot: Mutex::new(Some(snapshot)) });
        let at = all.partition_point(|one| one.revision < revision);
        all.insert(at, standing.clone());
        standing
    }

    /// Takes away the snapshots of a time before a revision.
    pub(super) fn forget_before(&self, floor: Revision) {
        let mut all = self.lock();
        while all.front().is_some_and(|oldest| oldest.revision < floor) {
            if let Some(oldest) = all.pop_front() {
                *oldest.lock() = None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<StandingSnapshot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl StandingSnapshot ===

impl StandingSnapshot {
    fn lock(&self) -> MutexGuard<'_, Option<Snapshot>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Initial ===

impl Initial {
    /// The objects of a snapshot below a prefix that a selector matches.
    pub(super) fn new(
        state: Arc<State>,
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
        let Some(snapshot) = self.standing.lock().clone() else {
            self.is_done = true;
            return Err(WatchError::Compacted {
                requested: self.standing.revision,
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
                    WatchEvent::Bookmark { revision: self.standing.revision, initial_events_end: true };
                return std::mem::take(&mut self.closes).then_some(Ok(bookmark));
            }
            if let Err(error) = self.fill() {
                self.closes = false;
                return Some(Err(error));
            }
        }
    }
}
