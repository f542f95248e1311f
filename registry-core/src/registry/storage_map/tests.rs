use std::sync::Arc;

use crate::registry::testing::{MemoryStorage, widgets};
use crate::resource::{NoStrategy, Resource, ResourceType};
use crate::storage::{Interface, StorageError};

use super::{ApiPath, Main, MapVersion, OpenStorage, Scale, Status, StorageMap};

struct Widgets;

impl Resource for Widgets {
    type Object = serde_json::Value;
    const TYPE: &'static ResourceType = &widgets(&NoStrategy);
}

static MAP: StorageMap = StorageMap {
    versions: &[MapVersion {
        group: "example.com",
        version: "v1",
        entries: &[Main::<Widgets>::ENTRY, Status::<Widgets>::ENTRY, Scale::<Widgets>::ENTRY],
    }],
};

struct InMemory;

impl OpenStorage for InMemory {
    fn open(&self, _: &'static ResourceType) -> Result<Arc<dyn Interface>, StorageError> {
        Ok(Arc::new(MemoryStorage::default()))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

#[test]
fn installed_paths_share_a_store_and_serve_what_their_storage_can() {
    let installed = MAP.install(&InMemory, &|_| true).unwrap();
    let served: Vec<_> =
        installed.paths.iter().map(|path| (path.subresource, path.capabilities.verbs())).collect();
    let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let own = ["get", "patch", "update"];
    assert_eq!(served, [(None, all.to_vec()), (Some("status"), own.to_vec()), (Some("scale"), own.to_vec())]);
    let store = installed.store(Widgets::TYPE).unwrap();
    assert!(
        installed.paths.iter().all(|path| path.store.as_ref().is_some_and(|own| Arc::ptr_eq(own, &store)))
    );
    assert!(MAP.install(&InMemory, &|_| false).unwrap().paths.is_empty());
}
