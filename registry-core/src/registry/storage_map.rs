//! The storage map: group → version → path → storage, checked by the compiler.
//!
//! `cargo xtask codegen` writes one `storage_map!` per crate from the annotated structs; the
//! compiler refuses one that contradicts itself, and the server installs it.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::capabilities;
use crate::resource::{Resource, ResourceType};
use crate::rest::{Capabilities, Storage};
use crate::storage::{Interface, StorageError};

use super::scale::ScaleStore;
use super::services::Services;
use super::store::{Store, StoreOptions};
use super::subresource::SubresourceStore;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub mod check;
mod written;

pub use written::{WrittenPath, WrittenVersion};

/// All storages of a server, or of one crate of resources.
#[derive(Clone, Copy, Debug)]
pub struct StorageMap {
    /// The versions, in the order discovery shows them.
    pub versions: &'static [MapVersion],
}

/// One group and version of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapVersion {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// Its paths; every subresource comes after its parent.
    pub entries: &'static [MapEntry],
}

/// One path of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapEntry {
    /// The resource this path is, or is below.
    pub resource: &'static ResourceType,
    /// The subresource; `None` for the resource itself.
    pub subresource: Option<&'static str>,
    /// Makes the storage.
    pub install: Install,
    /// Where the author declared it, as `file:line`.
    pub declared_at: &'static str,
}

/// How the storage of a path is made.
#[derive(Clone, Copy, Debug)]
pub enum Install {
    /// Over the resource's store.
    OverStore(fn(&Arc<Store>, &Services) -> Capabilities),
    /// From nothing stored: reviews and other resources that only exist in an answer.
    Virtual(fn(&Services) -> Capabilities),
}

/// A type that is one path of the API: one of the markers below, around a [`Resource`] or a [`Subresource`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path of the API",
    note = "a path is `Main<R>`, `Virtual<R>`, `Status<R>` or `Scale<R>` of a resource `R`, or `Custom<S>` of a subresource `S`"
)]
pub trait ApiPath {
    /// The path's entry in the map.
    const ENTRY: MapEntry;
}

/// `R` itself, with all verbs of the generic store.
pub struct Main<R>(PhantomData<R>);

/// `R` itself, of which nothing is stored: it has the capabilities of its own storage and no others.
pub struct Virtual<R>(PhantomData<R>);

/// The `status` subresource of `R`.
pub struct Status<R>(PhantomData<R>);

/// The `scale` subresource of `R`.
pub struct Scale<R>(PhantomData<R>);

/// A subresource of its author's own: `binding`, `eviction`, `token`, …
pub struct Custom<S>(PhantomData<S>);

/// What an author implements for a subresource that is neither `status` nor `scale`.
pub trait Subresource: Send + Sync + 'static {
    /// The resource it is below.
    type Parent: Resource;
    /// What serves it: the type itself, or a store such as
    /// [`SubresourceStore`](crate::registry::SubresourceStore). It implements every verb that is declared.
    type Storage: Storage;
    /// Its name in the path, for example `binding`.
    const NAME: &'static str;
    /// Makes its storage over the parent's store, with the capabilities it has
    /// (see [`capabilities!`](crate::capabilities)).
    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities;
}

/// A resource of which nothing is stored. The derive implements it for what says `storage = Type`.
pub trait VirtualResource: Resource {
    /// Makes its storage, with the capabilities it has.
    fn install(services: &Services) -> Capabilities;
}

/// What an author implements for `storage = Type`: serves a resource of which nothing is stored.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the storage of a virtual resource",
    label = "needs `impl VirtualStorage`"
)]
pub trait VirtualStorage: Send + Sync + 'static {
    /// Makes the storage of this resource, with the capabilities it has
    /// (see [`capabilities!`](crate::capabilities)).
    fn install(resource: &'static ResourceType, services: &Services) -> Capabilities;
}

/// Opens the storage of one resource: backend, cache, encryption. (RESTOptionsGetter.)
pub trait OpenStorage: Send + Sync {
    /// The storage of this resource's objects.
    ///
    /// # Errors
    /// The backend cannot be opened.
    fn open(&self, resource: &'static ResourceType) -> Result<Arc<dyn Interface>, StorageError>;

    /// The prefix of all keys, for example `/registry`.
    fn prefix(&self) -> &str;

    /// What the operator set of this resource's store.
    fn store_options(&self, _resource: &'static ResourceType) -> StoreOptions {
        StoreOptions::default()
    }

    /// What virtual resources and subresources may ask of the server. By default there is none, and they are told
    /// so.
    fn services(&self) -> Services {
        Services::default()
    }
}

/// A map whose storages are open: what the server routes to.
#[derive(Clone, Default)]
pub struct InstalledApi {
    /// The paths, in the order of the map.
    pub paths: Vec<InstalledPath>,
}

/// One path that is being served.
#[derive(Clone)]
pub struct InstalledPath {
    /// The resource this path is, or is below.
    pub resource: &'static ResourceType,
    /// The subresource; `None` for the resource itself.
    pub subresource: Option<&'static str>,
    /// What the path can do.
    pub capabilities: Capabilities,
    /// The store of the resource; `None` when nothing of it is stored.
    pub store: Option<Arc<Store>>,
}

// === the paths ===

impl<R: Resource> ApiPath for Main<R> {
    const ENTRY: MapEntry = MapEntry {
        resource: R::TYPE,
        subresource: None,
        install: Install::OverStore(install_main),
        declared_at: R::TYPE.declared_at,
    };
}

impl<R: VirtualResource> ApiPath for Virtual<R> {
    const ENTRY: MapEntry = MapEntry {
        resource: R::TYPE,
        subresource: None,
        install: Install::Virtual(R::install),
        declared_at: R::TYPE.declared_at,
    };
}

impl<R: Resource> ApiPath for Status<R> {
    const ENTRY: MapEntry = {
        assert!(R::TYPE.has_status, "a resource without a status has no `status` subresource");
        MapEntry {
            resource: R::TYPE,
            subresource: Some("status"),
            install: Install::OverStore(install_status),
            declared_at: R::TYPE.declared_at,
        }
    };
}

impl<R: Resource> ApiPath for Scale<R> {
    const ENTRY: MapEntry = {
        assert!(
            R::TYPE.scale.is_some(),
            "a resource that does not say `scale(…)` has no `scale` subresource"
        );
        MapEntry {
            resource: R::TYPE,
            subresource: Some("scale"),
            install: Install::OverStore(install_scale),
            declared_at: R::TYPE.declared_at,
        }
    };
}

impl<S: Subresource> ApiPath for Custom<S> {
    const ENTRY: MapEntry = MapEntry {
        resource: S::Parent::TYPE,
        subresource: Some(S::NAME),
        install: Install::OverStore(S::install),
        declared_at: S::Parent::TYPE.declared_at,
    };
}

fn install_main(store: &Arc<Store>, _: &Services) -> Capabilities {
    let mut capabilities = capabilities!(
        store.clone();
        getter, lister, watcher, creater, updater, patcher, deleter, collection_deleter
    );
    if !store.resource().serves_deletecollection {
        capabilities.collection_deleter = None;
    }
    capabilities
}

fn install_status(store: &Arc<Store>, _: &Services) -> Capabilities {
    capabilities!(SubresourceStore::status(store.clone()); getter, updater, patcher)
}

fn install_scale(store: &Arc<Store>, _: &Services) -> Capabilities {
    capabilities!(ScaleStore::new(store.clone()); getter, updater, patcher)
}

// === impl StorageMap ===

impl StorageMap {
    /// Opens the storage of every entry that `enabled` lets pass, and installs it.
    pub fn install(
        &self,
        storage: &dyn OpenStorage,
        enabled: &dyn Fn(&ResourceType) -> bool,
    ) -> Result<InstalledApi, StorageError> {
        let mut installed = InstalledApi::default();
        let services = storage.services();
        for entry in self.versions.iter().flat_map(|version| version.entries) {
            if !enabled(entry.resource) {
                continue;
            }
            let (capabilities, store) = match entry.install {
                Install::Virtual(install) => (install(&services), None),
                Install::OverStore(install) => {
                    let store = installed.store_for(entry.resource, storage)?;
                    services.stores.insert(&store);
                    (install(&store, &services), Some(store))
                }
            };
            installed.paths.push(InstalledPath {
                resource: entry.resource,
                subresource: entry.subresource,
                capabilities,
                store,
            });
        }
        Ok(installed)
    }
}

impl InstalledApi {
    /// The store of a resource, if it is installed.
    pub fn store(&self, resource: &ResourceType) -> Option<Arc<Store>> {
        let path = self.paths.iter().find(|path| path.resource.resource() == resource.resource())?;
        path.store.clone()
    }

    /// The store of a resource, opened if this is its first path.
    fn store_for(
        &self,
        resource: &'static ResourceType,
        storage: &dyn OpenStorage,
    ) -> Result<Arc<Store>, StorageError> {
        if let Some(store) = self.store(resource) {
            return Ok(store);
        }
        let options = storage.store_options(resource);
        Ok(Store::with_options(resource, storage.open(resource)?, storage.prefix(), options))
    }
}
