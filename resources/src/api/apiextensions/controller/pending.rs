//! Changes of definitions that the controller has not applied yet.

use std::collections::{BTreeSet, HashMap};

use parking_lot::{Mutex, MutexGuard};
use registry_core::registry::{InformerChange, InformerHandler};
use registry_core::storage::StoredObject;
use tokio::sync::Notify;

/// The newest state of each definition that changed. Holds at most one state per definition, however fast they
/// change.
#[derive(Default)]
pub(super) struct PendingChanges {
    batch: Mutex<Batch>,
    arrived: Notify,
}

/// Changes that are applied together.
#[derive(Default)]
pub(super) struct Batch {
    /// Whether `changes` are all definitions that exist.
    pub(super) is_complete: bool,
    /// The newest state of each definition by name; `None` if it was deleted.
    pub(super) changes: HashMap<String, Option<StoredObject>>,
    /// The names of definitions whose last known state is examined again.
    pub(super) again: BTreeSet<String>,
}

// === impl PendingChanges ===

impl PendingChanges {
    /// Waits for changes, and takes them.
    pub(super) async fn next(&self) -> Batch {
        loop {
            let batch = std::mem::take(&mut *self.batch());
            if batch.is_complete || !batch.changes.is_empty() || !batch.again.is_empty() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    /// Has a definition examined again, in the state that is known by then.
    pub(super) fn again(&self, name: String) {
        self.batch().again.insert(name);
        self.arrived.notify_one();
    }

    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock()
    }
}

impl InformerHandler for PendingChanges {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let changes = objects.into_iter().map(|object| (name_of(&object), Some(object))).collect();
        *self.batch() = Batch { is_complete: true, changes, again: BTreeSet::new() };
    }

    fn changed(&self, change: InformerChange) {
        let (object, exists) = match change {
            InformerChange::Added(object) | InformerChange::Modified(object) => (object, true),
            InformerChange::Deleted(object) => (object, false),
        };
        let mut batch = self.batch();
        let name = name_of(&object);
        if !exists && batch.is_complete {
            // The batch lists what exists.
            batch.changes.remove(&name);
            return;
        }
        batch.changes.insert(name, exists.then_some(object));
    }

    fn publish(&self) {
        self.arrived.notify_one();
    }
}

/// Returns the name of a cluster-scoped object: the last segment of its key.
fn name_of(object: &StoredObject) -> String {
    object.key.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use registry_core::storage::{Attributes, Entry};

    use super::*;

    #[tokio::test]
    async fn work_is_repeated_for_the_state_that_is_known_by_then() {
        let state = |name: &str, revision| {
            let key = format!("/definitions/{name}");
            StoredObject::new(Entry::new(key.into(), revision, "{}".into(), 0, Attributes::default()))
        };
        let pending = PendingChanges::default();
        pending.again("a".to_owned());
        let batch = pending.next().await;
        assert!(
            batch.changes.is_empty() && batch.again.contains("a"),
            "it brings no state, which may be an old one"
        );

        pending.changed(InformerChange::Modified(state("b", 2)));
        pending.again("b".to_owned());
        pending.changed(InformerChange::Modified(state("b", 3)));
        let batch = pending.next().await;
        assert_eq!(batch.changes["b"].as_ref().unwrap().revision, 3);
        pending.again("b".to_owned());
        pending.replaced(vec![state("c", 4)]);
        let batch = pending.next().await;
        assert!(batch.is_complete && batch.again.is_empty() && batch.changes.contains_key("c"));
    }
}
