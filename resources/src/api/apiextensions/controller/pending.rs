//! Changes of definitions that the controller has not applied yet.

use std::collections::HashMap;

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
}

// === impl PendingChanges ===

impl PendingChanges {
    /// Waits for changes, and takes them.
    pub(super) async fn next(&self) -> Batch {
        loop {
            let batch = std::mem::take(&mut *self.batch());
            if batch.is_complete || !batch.changes.is_empty() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    /// Applies a state of a definition again, unless a newer one is pending.
    pub(super) fn again(&self, name: String, object: StoredObject) {
        let mut batch = self.batch();
        if !batch.is_complete {
            batch.changes.entry(name).or_insert(Some(object));
        }
        drop(batch);
        self.arrived.notify_one();
    }

    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock()
    }
}

impl InformerHandler for PendingChanges {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let changes = objects.into_iter().map(|object| (name_of(&object), Some(object))).collect();
        *self.batch() = Batch { is_complete: true, changes };
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
