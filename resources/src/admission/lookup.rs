//! Reading other resources' objects, as plug-ins need them.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{GetOptions, ListOptions, Object, StatusError};
use registry_core::registry::{InstalledApi, Store};
use registry_core::resource::Resource;
use registry_core::rest::{Answer, Getter, Lister};

/// The objects of one resource.
pub(super) struct Lookup {
    store: Arc<Store>,
}

impl Lookup {
    /// Over an installed resource; `None` when it is not served.
    pub(super) fn of<R: Resource>(installed: &InstalledApi) -> Option<Self> {
        Some(Self { store: installed.store(R::TYPE)? })
    }

    /// An object: as cached, and once more for certain before it is called missing.
    pub(super) async fn get(&self, namespace: &str, name: &str) -> Result<Option<Object>, StatusError> {
        let context = RequestContext::system(namespace);
        for options in [GetOptions { resource_version: Some(0) }, GetOptions::default()] {
            match self.store.get(&context, name, &options).await {
                Ok(Answer::Stored(entry)) => return self.store.read(&entry).map(Some),
                Ok(Answer::Object(object)) => return Ok(Some(object)),
                Ok(Answer::Success(_)) => {}
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// All objects, as cached.
    pub(super) async fn all(&self) -> Result<Vec<Object>, StatusError> {
        self.all_in("").await
    }

    /// All objects of a namespace, as cached.
    pub(super) async fn all_in(&self, namespace: &str) -> Result<Vec<Object>, StatusError> {
        let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
        let page = self.store.list(&RequestContext::system(namespace), &options).await?;
        page.items.iter().map(|entry| self.store.read(entry)).collect()
    }
}
