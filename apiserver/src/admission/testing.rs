//! Test support: resources over an engine in memory, and a write.

use std::sync::Arc;

use registry_core::api::{GroupVersionKind, GroupVersionResource};
use registry_core::registry::{InstalledApi, OpenStorage};
use registry_core::resource::Versions;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};

use super::{Attributes, Operation};

/// Opens storages over an engine, without caches.
struct InMemory(Arc<Embedded>);

impl OpenStorage for InMemory {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        Ok(Arc::new(VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone())))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

/// Returns the resources with these plurals, with nothing stored.
pub(super) fn installed(is_served: fn(&str) -> bool) -> InstalledApi {
    let storage = InMemory(Embedded::in_memory());
    resources::STORAGE_MAP.install(&storage, &|resource| is_served(resource.plural)).unwrap()
}

/// Returns the attributes of the creation of a ConfigMap.
pub(super) fn creation() -> Attributes<'static> {
    let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
    let kind = GroupVersionKind { group: "", version: "v1", kind: "ConfigMap" };
    Attributes::new(Operation::Create, resource, kind, "a")
}
