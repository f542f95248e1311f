//! Loads objects from the store into a cache: page by page, counted against the budget as they arrive.

use std::sync::Arc;

use crate::entry::StoredObject;

use super::budget::{CacheBudget, Share};
use super::snapshots::Objects;

/// Collects the objects of a cache that is being filled; only counts them once they exceed the budget.
pub(super) struct Filling {
    budget: Arc<CacheBudget>,
    share: Arc<Share>,
    filled: Filled,
}

/// Objects of the store that the cache does not hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Absent {
    /// Number of objects.
    pub(super) objects: usize,
    /// Memory needed to hold them, in bytes.
    pub(super) bytes: usize,
}

/// The loaded objects.
#[derive(Default)]
pub(super) struct Filled {
    /// The objects; empty if they exceed the budget.
    pub(super) objects: Objects,
    /// Size of the objects in bytes, counted in the cache's share.
    pub(super) object_bytes: usize,
    /// Number and size of the objects if they exceed the budget.
    pub(super) absent: Option<Absent>,
}

// === impl Filling ===

impl Filling {
    /// Starts without objects.
    pub(super) fn new(budget: &Arc<CacheBudget>, share: &Arc<Share>) -> Self {
        Self { budget: budget.clone(), share: share.clone(), filled: Filled::default() }
    }

    /// Adds objects that the cache does not have yet.
    pub(super) fn take(&mut self, items: Vec<StoredObject>) {
        for object in items {
            self.put(object);
        }
        if self.budget.is_exceeded() {
            self.budget.make_room();
        }
        if self.filled.absent.is_none() && self.share.is_asked() {
            self.let_go();
        }
    }

    /// Applies a change of an object after the objects were listed.
    pub(super) fn change(&mut self, key: &str, now: Option<StoredObject>) {
        let previous = self.filled.objects.remove(key);
        let given_back_bytes = previous.map_or(0, |previous| previous.size_bytes());
        self.filled.object_bytes -= given_back_bytes;
        self.share.exchange(0, given_back_bytes);
        if let Some(object) = now {
            self.put(object);
        }
    }

    /// Whether the objects exceed the budget.
    pub(super) fn is_absent(&self) -> bool {
        self.filled.absent.is_some()
    }

    /// Returns the collected objects: counted in the share, which the receiver must release.
    pub(super) fn finish(mut self) -> Filled {
        std::mem::take(&mut self.filled)
    }

    fn put(&mut self, object: StoredObject) {
        let size_bytes = object.size_bytes();
        if let Some(absent) = &mut self.filled.absent {
            absent.objects += 1;
            absent.bytes += size_bytes;
            return;
        }
        self.filled.object_bytes += size_bytes;
        self.share.exchange(size_bytes, 0);
        self.filled.objects.insert(object.key.clone(), object);
    }

    fn let_go(&mut self) {
        let Filled { objects, object_bytes, .. } = std::mem::take(&mut self.filled);
        self.filled.absent = Some(Absent { objects: objects.len(), bytes: object_bytes });
        self.share.exchange(0, object_bytes);
        self.share.comply();
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.share.exchange(0, self.filled.object_bytes);
    }
}
