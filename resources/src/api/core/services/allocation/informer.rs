//! The writes of other servers on the same store: their services take addresses and ports, and give them back.
//!
//! IPAddress objects decide who has an address, and claims in the store who has a node port. Services that were stored without
//! claims are known from here alone.

use std::sync::Arc;

use registry_core::codec::stored;
use registry_core::registry::{Informer, InformerChange, InformerHandler, InformerTask};
use registry_core::storage::StoredObject;

use super::Allocator;
use super::allocations::AllocationSet;
use super::owner::Owner;

/// Records the services that an informer sees.
struct ServiceRecorder(Arc<Allocator>);

// === impl Allocator ===

impl Allocator {
    /// Returns the informer that keeps the allocations up to date with the writes of other servers; `None` after the end
    /// of the server.
    pub(crate) fn informer(self: &Arc<Self>) -> Option<InformerTask> {
        let store = self.store.upgrade()?;
        Some(Informer::new(store, Arc::new(ServiceRecorder(self.clone()))).into_task())
    }
}

// === impl ServiceRecorder ===

impl ServiceRecorder {
    fn seen(&self, entry: &StoredObject) {
        let Ok(service) = stored::decode(entry.json()) else { return };
        self.0.allocations().seen(&AllocationSet::from_service(&service), &Owner::from_service(&service));
    }
}

impl InformerHandler for ServiceRecorder {
    fn replaced(&self, objects: Vec<StoredObject>) {
        for entry in &objects {
            self.seen(entry);
        }
    }

    fn changed(&self, change: InformerChange) {
        match change {
            InformerChange::Added(entry) | InformerChange::Modified(entry) => self.seen(&entry),
            InformerChange::Deleted(entry) => {
                let Ok(service) = stored::decode(entry.json()) else { return };
                self.0
                    .allocations()
                    .gone(&AllocationSet::from_service(&service), &Owner::from_service(&service));
            }
        }
    }
}
