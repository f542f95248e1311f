//! Objects on their way from the store into a cache: page by page, counted against the budget as they come.

use std::sync::Arc;

use crate::storage::entry::StoredObject;

use super::budget::{CacheBudget, Share};
use super::snapshots::Objects;
use super::state::Absent;

/// Collects the objects of a cache that is being filled; only counts them once they do not fit the budget.
pub(super) struct Filling {
    budget: Arc<CacheBudget>,
    share: Arc<Share>,
    filled: Filled,
}

/// The objects for a cache.
#[derive(Default)]
pub(super) struct Filled {
    /// The objects; none when they do not fit the budget.
    pub(super) objects: Objects,
    /// What they take, in bytes: counted in the cache's share.
    pub(super) object_bytes: usize,
    /// What there is, when it does not fit.
    pub(super) absent: Option<Absent>,
}

// === impl Filling ===

impl Filling {
    /// Begins without any object.
    pub(super) fn new(budget: &Arc<CacheBudget>, share: &Arc<Share>) -> Self {
        Self { budget: budget.clone(), share: share.clone(), filled: Filled::default() }
    }

    /// Takes objects in that the cache does not have yet.
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

    /// Takes in what happened to an object after the objects were listed.
    pub(super) fn change(&mut self, key: &str, now: Option<StoredObject>) {
        let previous = self.filled.objects.remove(key);
        let given_back_bytes = previous.map_or(0, |previous| previous.size_bytes());
        self.filled.object_bytes -= given_back_bytes;
        self.share.exchange(0, given_back_bytes);
        if let Some(object) = now {
            self.put(object);
        }
    }

    /// Whether the objects do not fit.
    pub(super) fn is_absent(&self) -> bool {
        self.filled.absent.is_some()
    }

    /// What was taken in: counted in the share, which whoever gets it has to give back.
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
