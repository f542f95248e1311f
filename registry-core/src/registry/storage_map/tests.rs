use std::sync::Arc;

use crate::registry::testing::{MemoryStorage, widgets};
use crate::resource::{NoStrategy, Resource, ResourceDescription, ResourceType, Versions};
use crate::storage::{Interface, StorageError};

use super::{
    ApiPath, Main, MapVersion, OpenStorage, Scale, Services, Status, StorageMap, Virtual, VirtualResource,
};
use crate::rest::Capabilities;

struct Widgets;

impl Resource for Widgets {
    type Object = serde_json::Value;
    const TYPE: &'static ResourceDescription = &widgets(|| Arc::new(NoStrategy));
}

static MAP: StorageMap = StorageMap {
    versions: &[MapVersion {
        group: "example.com",
        version: "v1",
        entries: &[Main::<Widgets>::ENTRY, Status::<Widgets>::ENTRY, Scale::<Widgets>::ENTRY],
    }],
    declared_in: module_path!(),
};

struct InMemory;

impl OpenStorage for InMemory {
    fn open(&self, _: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
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

/// A resource of which only the kind is available.
struct Questions;

impl Resource for Questions {
    type Object = serde_json::Value;
    const TYPE: &'static ResourceDescription = &widgets(|| Arc::new(NoStrategy));
}

impl VirtualResource for Questions {
    fn install(resource: &Arc<ResourceType>, _: &Services) -> Capabilities {
        Capabilities::none(crate::registry::Store::new(
            resource.clone(),
            Arc::new(MemoryStorage::default()),
            "/nowhere",
        ))
    }
}

#[test]
fn nothing_is_opened_for_a_virtual_resource_and_it_has_its_own_verbs_only() {
    struct Unopened;

    impl OpenStorage for Unopened {
        fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
            unreachable!("{versions:?} is not stored")
        }

        fn prefix(&self) -> &'static str {
            "/registry"
        }
    }

    let version = MapVersion { group: "example.com", version: "v1", entries: &[Virtual::<Questions>::ENTRY] };
    let map = StorageMap { versions: Box::leak(Box::new([version])), declared_in: module_path!() };
    let installed = map.install(&Unopened, &|_| true).unwrap();
    let [only] = installed.paths.as_slice() else { unreachable!("one path was installed") };
    assert!(only.store.is_none() && only.capabilities.verbs().is_empty());
    assert!(installed.store(Questions::TYPE).is_none());
}
