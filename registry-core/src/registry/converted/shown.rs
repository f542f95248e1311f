//! The objects that the watches by converted fields have, within bounds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::storage::{Entry, StoredObject};

/// Maximum number of objects that all watches of one version by converted fields have together.
const MAX_SHOWN: usize = 1_000_000;
/// Maximum size of the states that they hold themselves.
const MAX_HELD_BYTES: usize = 64 << 20;

/// The objects that a watcher has, as stored, by key.
pub(super) struct Shown {
    objects: HashMap<Arc<str>, LastState>,
    totals: Arc<ShownTotals>,
}

/// The numbers of all watches of one version by converted fields.
#[derive(Default)]
pub(super) struct ShownTotals {
    objects: AtomicUsize,
    held_bytes: AtomicUsize,
}

/// The last state of an object that a watcher has.
enum LastState {
    /// The cache holds it: the current state, and in its history what an event replaces, as long as a watcher can read
    /// the event.
    Cached(Weak<Entry>),
    /// Read from the history of the store for this watcher alone.
    Held(StoredObject),
}

/// All watches of a version have too many objects.
pub(super) struct Full;

// === impl LastState ===

impl LastState {
    fn get(&self) -> Option<StoredObject> {
        match self {
            Self::Cached(entry) => entry.upgrade(),
            Self::Held(entry) => Some(entry.clone()),
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Self::Cached(_) => 0,
            Self::Held(entry) => entry.size_bytes(),
        }
    }
}

// === impl Shown ===

impl Shown {
    pub(super) fn new(totals: &Arc<ShownTotals>) -> Self {
        Self { objects: HashMap::new(), totals: totals.clone() }
    }

    /// Adds an object of the history, whose state is held if there is place for it.
    pub(super) fn insert_former(&mut self, stored: &StoredObject) -> Result<bool, Full> {
        let bytes = stored.size_bytes();
        if self.totals.held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_HELD_BYTES {
            return self.put(&stored.key, LastState::Held(stored.clone()));
        }
        self.totals.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.insert(stored)
    }

    /// Adds an object, or replaces its former state; returns whether it is new.
    pub(super) fn insert(&mut self, stored: &StoredObject) -> Result<bool, Full> {
        self.put(&stored.key, LastState::Cached(Arc::downgrade(stored)))
    }

    fn put(&mut self, key: &Arc<str>, state: LastState) -> Result<bool, Full> {
        let Some(before) = self.objects.insert(key.clone(), state) else {
            let before = self.totals.objects.fetch_add(1, Ordering::Relaxed);
            return if before < MAX_SHOWN { Ok(true) } else { Err(Full) };
        };
        self.totals.held_bytes.fetch_sub(before.held_bytes(), Ordering::Relaxed);
        Ok(false)
    }

    /// Returns the last state of an object, if it is known.
    pub(super) fn last(&self, key: &str) -> Option<StoredObject> {
        self.objects.get(key).and_then(LastState::get)
    }

    /// Removes an object; returns whether the watcher had it.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let Some(before) = self.objects.remove(key) else { return false };
        self.totals.objects.fetch_sub(1, Ordering::Relaxed);
        self.totals.held_bytes.fetch_sub(before.held_bytes(), Ordering::Relaxed);
        true
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let held_bytes = self.objects.values().map(LastState::held_bytes).sum();
        self.totals.objects.fetch_sub(self.objects.len(), Ordering::Relaxed);
        self.totals.held_bytes.fetch_sub(held_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Attributes;

    fn stored(key: &str) -> StoredObject {
        Arc::new(Entry::new(key.into(), 1, "{}".into(), 0, Attributes::default()))
    }

    fn numbers(totals: &ShownTotals) -> (usize, usize) {
        (totals.objects.load(Ordering::Relaxed), totals.held_bytes.load(Ordering::Relaxed))
    }

    #[test]
    fn the_objects_of_all_watches_together_are_bounded() {
        let totals = Arc::new(ShownTotals { objects: AtomicUsize::new(MAX_SHOWN - 2), ..Default::default() });
        let (mut first, mut second) = (Shown::new(&totals), Shown::new(&totals));
        let (a, b) = (stored("/a"), stored("/b"));
        assert!(matches!(first.insert(&a), Ok(true)));
        assert!(matches!(first.insert(&a), Ok(false)), "another state of it takes no more place");
        assert!(matches!(second.insert(&a), Ok(true)));
        assert!(second.insert(&b).is_err());
        drop(second);
        assert!(matches!(first.insert(&b), Ok(true)));
        assert!(first.remove("/a") && !first.remove("/a"));
        drop(first);
        assert_eq!(numbers(&totals), (MAX_SHOWN - 2, 0));
    }

    #[test]
    fn a_watch_holds_former_states_up_to_a_size_and_no_others() {
        let totals = Arc::new(ShownTotals::default());
        let mut shown = Shown::new(&totals);
        let (current, former) = (stored("/current"), stored("/former"));
        assert!(shown.insert(&current).is_ok() && shown.insert_former(&former).is_ok());
        assert_eq!(numbers(&totals), (2, former.size_bytes()));
        drop(current);
        drop(former);
        assert!(shown.last("/current").is_none(), "the cache has forgotten it");
        assert!(shown.last("/former").is_some());
        assert!(shown.remove("/current"), "the watcher still has the object");
        // An event replaces what is held.
        assert!(matches!(shown.insert(&stored("/former")), Ok(false)));
        assert_eq!(numbers(&totals), (1, 0));
        totals.held_bytes.store(MAX_HELD_BYTES, Ordering::Relaxed);
        let more = stored("/more");
        assert!(shown.insert_former(&more).is_ok());
        assert_eq!(numbers(&totals), (2, MAX_HELD_BYTES));
    }
}
