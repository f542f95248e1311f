//! Reads of other resources' objects, for plug-ins and subresources.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{GetOptions, ListOptions, Object, Reason, StatusError};
use registry_core::registry::{InstalledApi, Store, Stores};
use registry_core::resource::Resource;
use registry_core::rest::{Answer, Getter, Lister};
use registry_core::storage::StoredObject;

mod decoded;

pub(crate) use decoded::Decoded;

/// The objects of one resource.
pub(crate) struct Lookup {
    store: Arc<Store>,
}

impl Lookup {
    /// Creates a look-up over an installed resource; `None` if it is not served.
    pub(crate) fn for_resource<R: Resource>(installed: &InstalledApi) -> Option<Self> {
        Some(Self { store: installed.store(R::TYPE)? })
    }

    /// Creates a look-up in a server's stores.
    ///
    /// # Errors
    /// 404: the resource is not served.
    pub(crate) fn within<R: Resource>(stores: &Stores) -> Result<Self, StatusError> {
        let not_served =
            || StatusError::new(Reason::NotFound, "the server could not find the requested resource");
        Ok(Self { store: stores.get(R::TYPE).ok_or_else(not_served)? })
    }

    /// Returns the present state of an object.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub(crate) async fn newest(&self, namespace: &str, name: &str) -> Result<Object, StatusError> {
        let context = RequestContext::system(namespace);
        read_newest(&self.store, &context, name).await
    }

    /// Returns the present objects of a namespace.
    pub(crate) async fn newest_in(&self, namespace: &str) -> Result<Vec<Object>, StatusError> {
        self.newest_entries_in(namespace).await?.iter().map(|entry| self.store.read(entry)).collect()
    }

    /// Returns the present entries of a namespace, not decoded.
    pub(crate) async fn newest_entries_in(&self, namespace: &str) -> Result<Vec<StoredObject>, StatusError> {
        let options = ListOptions::default();
        Ok(self.store.list(&RequestContext::system(namespace), &options).await?.items)
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns an object from the cache; if it is missing there, reads consistently.
    pub(crate) async fn get(&self, namespace: &str, name: &str) -> Result<Option<Object>, StatusError> {
        self.entry(namespace, name).await?.map(|entry| self.store.read(&entry)).transpose()
    }

    /// Like [`get`](Self::get), without decoding the object.
    async fn entry(&self, namespace: &str, name: &str) -> Result<Option<StoredObject>, StatusError> {
        let context = RequestContext::system(namespace);
        match self.store.find(&context, name).await {
            // No object has such a name.
            Err(failure) if failure.reason == Reason::BadRequest => Ok(None),
            found => found,
        }
    }

    /// Returns all objects, from the cache.
    pub(crate) async fn all(&self) -> Result<Vec<Object>, StatusError> {
        self.all_in("").await
    }

    /// Returns all objects of a namespace, from the cache.
    pub(crate) async fn all_in(&self, namespace: &str) -> Result<Vec<Object>, StatusError> {
        self.entries_in(namespace).await?.iter().map(|entry| self.store.read(entry)).collect()
    }

    /// Returns all entries of a namespace, not decoded, from the cache.
    async fn entries_in(&self, namespace: &str) -> Result<Vec<StoredObject>, StatusError> {
        let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
        Ok(self.store.list(&RequestContext::system(namespace), &options).await?.items)
    }
}

/// Returns the present state of an object.
///
/// # Errors
/// 404 if it does not exist.
pub(crate) async fn read_newest(
    store: &Store,
    context: &RequestContext,
    name: &str,
) -> Result<Object, StatusError> {
    match store.get(context, name, &GetOptions::default()).await? {
        Answer::Stored(entry) => store.read(&entry),
        Answer::Object(object) => Ok(object),
        Answer::Success(_) => Err(StatusError::not_found(store.resource().group_resource(), name)),
    }
}
