//! Test support: resources over an in-memory engine, cached as in a server.

use std::sync::Arc;
use std::time::Duration;

use registry_core::RequestContext;
use registry_core::api::{CreateOptions, Object};
use registry_core::registry::{InstalledApi, OpenStorage};
use registry_core::resource::{Resource, Versions};
use registry_core::rest::{AdmitAll, Creater as _};
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use serde_json::Value;

/// Opens storages over an engine.
pub(crate) struct InMemory(pub(crate) Arc<dyn Mvcc>);

impl OpenStorage for InMemory {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let store = VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone());
        let options = CacherOptions {
            prefix: format!("{}/{}/", self.prefix(), versions.hub().storage_prefix),
            indexes: versions.hub().indexes,
            budget: Arc::new(CacheBudget::new(1 << 30)),
            history_events: 1_000,
            bookmark_period: Duration::from_mins(1),
        };
        Ok(Cacher::new(Arc::new(store), options))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

/// Returns these resources, with nothing stored.
pub(crate) fn installed(plurals: &[&str]) -> InstalledApi {
    installed_over(Embedded::in_memory(), plurals)
}

/// Returns these resources over an engine.
pub(crate) fn installed_over(engine: Arc<dyn Mvcc>, plurals: &[&str]) -> InstalledApi {
    let storage = InMemory(engine);
    crate::STORAGE_MAP.install(&storage, &|resource| plurals.contains(&resource.plural)).unwrap()
}

/// Stores an object of `default`.
pub(crate) async fn create<R: Resource>(installed: &InstalledApi, object: Value) {
    let store = installed.store(R::TYPE).unwrap();
    let object = Object::from_value(object).unwrap();
    let context = RequestContext::system("default");
    store.create(&context, object.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
}
