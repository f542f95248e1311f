//! Snapshots and their users: lists still being paged, and watches still sending their initial state.
//!
//! The old states that a snapshot holds are not counted, so both kinds are released when the history passes them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use imbl::OrdMap;
use parking_lot::{Mutex, MutexGuard};

use crate::Revision;
use crate::entry::StoredObject;

/// Maximum number of snapshots kept for lists being paged, and how long they are kept.
const KEPT: usize = 32;
const KEPT_FOR: Duration = Duration::from_mins(5);

/// Objects by key.
pub(super) type Objects = OrdMap<Arc<str>, StoredObject>;

/// All objects at one revision. Clones share the data.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// The revision.
    pub(super) revision: Revision,
    /// The objects by key.
    pub(super) objects: Objects,
}

/// Snapshots of lists still being paged, the oldest first.
#[derive(Default)]
pub(super) struct Pages(Mutex<VecDeque<(Instant, Snapshot)>>);

/// A snapshot held by its users until it is revoked.
pub(super) struct StandingSnapshot {
    revision: Revision,
    snapshot: Mutex<Option<Snapshot>>,
}

/// The snapshots in use by watches, the oldest first.
#[derive(Default)]
pub(super) struct StandingSnapshots(Mutex<VecDeque<Arc<StandingSnapshot>>>);

// === impl Pages ===

impl Pages {
    /// Keeps the snapshot of a list that has further pages. Reading them does not prolong the time.
    pub(super) fn keep(&self, snapshot: &Snapshot) {
        let mut kept = self.lock();
        let is_kept = kept.iter().any(|(_, own)| own.revision == snapshot.revision);
        kept.retain(|(since, _)| since.elapsed() < KEPT_FOR);
        if is_kept {
            return;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((Instant::now(), snapshot.clone()));
    }

    /// Drops the snapshots older than a revision: the store serves their further pages.
    pub(super) fn forget_before(&self, floor: Revision) {
        let mut kept = self.lock();
        kept.retain(|(_, own)| own.revision >= floor);
    }

    /// Returns the snapshot of this revision, if it is kept; otherwise the store tells whether the revision has expired.
    pub(super) fn at(&self, revision: Revision) -> Option<Snapshot> {
        let kept = self.lock();
        let is_wanted =
            |(since, own): &&(Instant, Snapshot)| own.revision == revision && since.elapsed() < KEPT_FOR;
        kept.iter().find(is_wanted).map(|(_, own)| own.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Snapshot)>> {
        self.0.lock()
    }
}

// === impl StandingSnapshots ===

impl StandingSnapshots {
    /// Starts using a snapshot, shared with other users of the same revision.
    pub(super) fn stand(&self, snapshot: Snapshot) -> Arc<StandingSnapshot> {
        let mut all = self.lock();
        // Only this list holds it: all users have dropped it.
        all.retain(|kept| Arc::strong_count(kept) > 1);
        if let Some(same) = all.iter().find(|kept| kept.revision == snapshot.revision) {
            return same.clone();
        }
        let revision = snapshot.revision;
        let standing = Arc::new(StandingSnapshot { revision, snapshot: Mutex::new(Some(snapshot)) });
        let at = all.partition_point(|kept| kept.revision < revision);
        all.insert(at, standing.clone());
        standing
    }

    /// Revokes the snapshots older than a revision.
    pub(super) fn forget_before(&self, floor: Revision) {
        let mut all = self.lock();
        while all.front().is_some_and(|oldest| oldest.revision < floor) {
            if let Some(oldest) = all.pop_front() {
                *oldest.lock() = None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<StandingSnapshot>>> {
        self.0.lock()
    }
}

// === impl StandingSnapshot ===

impl StandingSnapshot {
    /// Returns its revision.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the snapshot; `None` once it was revoked.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Snapshot>> {
        self.snapshot.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_pages_does_not_prolong_the_time_of_their_snapshot() {
        let pages = Pages::default();
        let snapshot = Snapshot { revision: 7, ..Snapshot::default() };
        pages.keep(&snapshot);
        pages.keep(&snapshot);
        assert_eq!(pages.at(7).map(|found| found.revision), Some(7));
        assert!(pages.at(8).is_none());
        for (since, _) in pages.lock().iter_mut() {
            *since -= KEPT_FOR;
        }
        assert!(pages.at(7).is_none());
        // A page that was read before.
        pages.keep(&snapshot);
        assert!(pages.at(7).is_none());
        assert!(pages.lock().is_empty());
    }
}
