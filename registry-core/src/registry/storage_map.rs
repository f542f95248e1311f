//! The storage map: group → version → path → storage, checked by the compiler.
//!
//! `cargo xtask codegen` writes one `storage_map!` per crate from the annotated structs; the compiler rejects an
//! inconsistent map, and the server installs it.
//!
//! | module | contents |
//! |---|---|
//! | `written` | the macro that code generation fills in |
//! | `check` | the checks of a map, at compile time |
//! | `installed` | kinds that are added while the server runs |

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::api::GroupVersionResource;
use crate::capabilities;
use crate::features::Features;
use crate::release::Release;
use crate::resource::{Resource, ResourceDescription, ResourceType, Versions};
use crate::rest::{Capabilities, Storage};
use crate::storage::{EncodingBudget, Interface, StorageError};

use super::converted;
use super::scale::ScaleStore;
use super::services::Services;
use super::store::{Store, StoreOptions};
use super::subresource::SubresourceStore;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub mod check;
mod installed;
mod written;

pub use check::together::{MapConflict, check_declarations, check_together};
pub use check::{WrittenPath, WrittenVersion};
pub use installed::{ServedKind, install_kinds};

/// All storages of a server, or of one crate of resources.
#[derive(Clone, Copy, Debug)]
pub struct StorageMap {
    /// The versions: groups in discovery order, versions of a group by name.
    pub versions: &'static [MapVersion],
    /// The module that declares it, as `crate::module`.
    pub declared_in: &'static str,
}

/// A group and version of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapVersion {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// Its paths; every subresource comes after its parent.
    pub entries: &'static [MapEntry],
}

/// A path of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapEntry {
    /// The resource of this path, or its parent.
    pub resource: &'static ResourceDescription,
    /// The subresource; `None` for the resource itself.
    pub subresource: Option<&'static str>,
    /// Creates the storage.
    pub install: Install,
    /// The place of the author's declaration, as `file:line`.
    pub declared_at: &'static str,
}

/// The function that creates the storage of a path.
#[derive(Clone, Copy, Debug)]
pub enum Install {
    /// On the resource's store.
    OverStore(fn(&Arc<Store>, &Services) -> Capabilities),
    /// Without a store: reviews and other resources that are not persisted.
    Virtual(fn(&Arc<ResourceType>, &Services) -> Capabilities),
}

/// A type that represents a path of the API: one of the markers below, around a [`Resource`] or a [`Subresource`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path of the API",
    note = "a path is `Main<R>`, `Virtual<R>`, `Status<R>` or `Scale<R>` of a resource `R`, or `Custom<S>` of a subresource `S`"
)]
pub trait ApiPath {
    /// The path's entry in the map.
    const ENTRY: MapEntry;
}

/// The resource `R`, with all verbs of the generic store.
pub struct Main<R>(PhantomData<R>);

/// The resource `R`, which is not stored: it has exactly the capabilities of its own storage.
pub struct Virtual<R>(PhantomData<R>);

/// The `status` subresource of `R`.
pub struct Status<R>(PhantomData<R>);

/// The `scale` subresource of `R`.
pub struct Scale<R>(PhantomData<R>);

/// A custom subresource: `binding`, `eviction`, `token`, …
pub struct Custom<S>(PhantomData<S>);

/// Implemented by authors for a subresource that is neither `status` nor `scale`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a subresource",
    label = "needs `impl Subresource for {Self}`",
    note = "`subresource(Type, verbs(…))` names a type that implements `registry_core::registry::Subresource`: its parent, its storage and its name in the path"
)]
pub trait Subresource: Send + Sync + 'static {
    /// The parent resource.
    type Parent: Resource;
    /// The storage: the type itself, or a store such as [`SubresourceStore`]. It implements every declared verb.
    type Storage: Storage;
    /// Its name in the path, for example `binding`.
    const NAME: &'static str;
    /// Creates the storage on the parent's store and returns its capabilities (see
    /// [`capabilities!`](crate::capabilities)).
    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities;
}

/// A resource that is not stored. The derive implements it for `storage = Type`.
pub trait VirtualResource: Resource {
    /// Creates the storage and returns its capabilities.
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities;
}

/// Implemented by authors for `storage = Type`: serves a resource that is not stored.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the storage of a virtual resource",
    label = "needs `impl VirtualStorage`"
)]
pub trait VirtualStorage: Send + Sync + 'static {
    /// Creates the storage of this resource and returns its capabilities (see [`capabilities!`](crate::capabilities)).
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities;
}

/// Opens the storage of one resource: backend, cache, encryption. (RESTOptionsGetter.)
pub trait OpenStorage: Send + Sync {
    /// Opens the storage of a kind's objects. They are stored as `versions.hub()`; values that another server stored in
    /// another version are read as described at [`Versions`].
    ///
    /// # Errors
    /// Fails if the backend cannot be opened.
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError>;

    /// Returns the prefix of all keys, for example `/registry`.
    fn prefix(&self) -> &str;

    /// Returns the enabled features. By default these are kube-apiserver's.
    fn features(&self) -> Features {
        Features::default()
    }

    /// Returns the oldest release whose servers must be able to read the objects. (`--min-compatibility-version`.) By
    /// default there are no others, and objects are stored as the hub.
    fn oldest_reader(&self) -> Option<Release> {
        None
    }

    /// Returns the operator's options for this resource's store.
    fn store_options(&self, _resource: &ResourceType) -> StoreOptions {
        StoreOptions::default()
    }

    /// Returns the memory budget of the encodings and other versions cached with stored objects. By default nothing is
    /// cached.
    fn encoding_budget(&self) -> Arc<EncodingBudget> {
        Arc::new(EncodingBudget::new(0))
    }

    /// Returns the services for virtual resources and subresources. By default none are available, and requests that
    /// need them fail.
    fn services(&self) -> Services {
        Services::default()
    }
}

/// A map with open storages, which the server routes to.
#[derive(Clone, Default)]
pub struct InstalledApi {
    /// The paths, in the order of the map.
    pub paths: Vec<InstalledPath>,
}

/// A served path.
#[derive(Clone)]
pub struct InstalledPath {
    /// The resource of this path, or its parent.
    pub resource: Arc<ResourceType>,
    /// The subresource; `None` for the resource itself.
    pub subresource: Option<&'static str>,
    /// The capabilities of the path.
    pub capabilities: Capabilities,
    /// The store of the resource (for a spoke, its hub's); `None` if it is not stored.
    pub store: Option<Arc<Store>>,
    /// All versions of the stored kind.
    pub versions: Option<Arc<Versions>>,
}

// === the paths ===

impl<R: Resource> ApiPath for Main<R> {
    const ENTRY: MapEntry = MapEntry {
        resource: R::TYPE,
        subresource: None,
        install: Install::OverStore(install_main),
        declared_at: R::TYPE.properties.declared_at,
    };
}

impl<R: VirtualResource> ApiPath for Virtual<R> {
    const ENTRY: MapEntry = MapEntry {
        resource: R::TYPE,
        subresource: None,
        install: Install::Virtual(R::install),
        declared_at: R::TYPE.properties.declared_at,
    };
}

impl<R: Resource> ApiPath for Status<R> {
    const ENTRY: MapEntry = {
        assert!(R::TYPE.properties.has_status, "a resource without a status has no `status` subresource");
        MapEntry {
            resource: R::TYPE,
            subresource: Some("status"),
            install: Install::OverStore(install_status),
            declared_at: R::TYPE.properties.declared_at,
        }
    };
}

impl<R: Resource> ApiPath for Scale<R> {
    const ENTRY: MapEntry = {
        assert!(
            R::TYPE.properties.scale.is_some(),
            "a resource that does not say `scale(…)` has no `scale` subresource"
        );
        MapEntry {
            resource: R::TYPE,
            subresource: Some("scale"),
            install: Install::OverStore(install_scale),
            declared_at: R::TYPE.properties.declared_at,
        }
    };
}

impl<S: Subresource> ApiPath for Custom<S> {
    const ENTRY: MapEntry = MapEntry {
        resource: S::Parent::TYPE,
        subresource: Some(S::NAME),
        install: Install::OverStore(S::install),
        declared_at: S::Parent::TYPE.properties.declared_at,
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
    /// Opens and installs the storage of every entry that satisfies `enabled`.
    pub fn install(
        &self,
        storage: &dyn OpenStorage,
        enabled: &dyn Fn(&ResourceDescription) -> bool,
    ) -> Result<InstalledApi, StorageError> {
        let mut installed = InstalledApi::default();
        let services = storage.services();
        let types = self.instantiate(enabled, storage.features());
        for entry in self.versions.iter().flat_map(|version| version.entries) {
            if !enabled(entry.resource) {
                continue;
            }
            let Some(resource) = types.get(&entry.resource.resource()).cloned() else { continue };
            let subresource = entry.subresource;
            installed.paths.push(match entry.install {
                Install::Virtual(install) => InstalledPath {
                    capabilities: install(&resource, &services),
                    resource,
                    subresource,
                    store: None,
                    versions: None,
                },
                Install::OverStore(install) => {
                    let (store, versions) = open_store(&installed, &types, &resource, storage)?;
                    services.stores.insert(&store);
                    let capabilities = install(&store, &services);
                    InstalledPath::over(&resource, subresource, capabilities, (store, versions), storage)
                }
            });
        }
        Ok(installed)
    }

    /// Creates the run-time type of every enabled resource, and of all other versions of the enabled kinds that are stored;
    /// spokes share their hub.
    fn instantiate(
        &self,
        enabled: &dyn Fn(&ResourceDescription) -> bool,
        features: Features,
    ) -> ResourceTypes {
        let resources =
            || self.versions.iter().flat_map(|version| version.entries).map(|entry| entry.resource);
        let kinds: BTreeSet<GroupVersionResource> = resources()
            .filter(|resource| enabled(resource))
            .map(|resource| resource.stored().resource())
            .collect();
        let mut types = ResourceTypes::new();
        for resource in resources().filter(|resource| kinds.contains(&resource.stored().resource())) {
            let hub = resource.hub.map(|conversion| {
                let hub = conversion.hub;
                let instantiate = || hub.instantiate_below(None, features);
                types.entry(hub.resource()).or_insert_with(instantiate).clone()
            });
            types.entry(resource.resource()).or_insert_with(|| resource.instantiate_below(hub, features));
        }
        types
    }
}

/// The run-time types of the enabled kinds, in all versions: objects stored in a disabled version are still readable.
type ResourceTypes = BTreeMap<GroupVersionResource, Arc<ResourceType>>;

/// Returns the store of a resource's objects (for a spoke, its hub's), opened for its first path.
fn open_store(
    installed: &InstalledApi,
    types: &ResourceTypes,
    resource: &Arc<ResourceType>,
    storage: &dyn OpenStorage,
) -> Result<(Arc<Store>, Arc<Versions>), StorageError> {
    let hub = resource.hub.as_ref().map_or(resource, |conversion| &conversion.hub);
    if let Some(InstalledPath { store: Some(store), versions: Some(versions), .. }) = installed.stored(hub) {
        return Ok((store.clone(), versions.clone()));
    }
    let is_spoke = |candidate: &&Arc<ResourceType>| {
        candidate.hub.as_ref().is_some_and(|conversion| conversion.hub.is(hub))
    };
    let versions = Versions::new(hub.clone(), types.values().filter(is_spoke).cloned());
    let versions = Arc::new(match storage.oldest_reader() {
        Some(release) => versions.readable_by(release),
        None => versions,
    });
    Ok((open_versions(&versions, storage)?, versions))
}

/// Opens the store of a kind's objects.
fn open_versions(versions: &Arc<Versions>, storage: &dyn OpenStorage) -> Result<Arc<Store>, StorageError> {
    let hub = versions.hub();
    let options = StoreOptions { features: storage.features(), ..storage.store_options(hub) };
    Ok(Store::with_options(hub.clone(), storage.open(versions)?, storage.prefix(), options))
}

impl InstalledPath {
    /// Creates a path over a store, given the capabilities of the hub's path, which are converted for this version.
    fn over(
        resource: &Arc<ResourceType>,
        subresource: Option<&'static str>,
        capabilities: Capabilities,
        (store, versions): (Arc<Store>, Arc<Versions>),
        storage: &dyn OpenStorage,
    ) -> Self {
        let capabilities = match &resource.hub {
            Some(conversion) => {
                let kept = storage.encoding_budget();
                converted::capabilities(resource, conversion, subresource, capabilities, &kept)
            }
            None => capabilities,
        };
        let resource = resource.clone();
        Self { resource, subresource, capabilities, store: Some(store), versions: Some(versions) }
    }
}

impl InstalledApi {
    /// Returns the store of a resource's objects (for a spoke, its hub's), if it is installed.
    pub fn store(&self, resource: &'static ResourceDescription) -> Option<Arc<Store>> {
        self.over(resource.stored().resource())?.store.clone()
    }

    /// Returns a path on the store of a hub.
    fn stored(&self, hub: &ResourceType) -> Option<&InstalledPath> {
        self.over(hub.resource())
    }

    fn over(&self, hub: GroupVersionResource) -> Option<&InstalledPath> {
        let is_over = |store: &Arc<Store>| store.resource().resource() == hub;
        self.paths.iter().find(|path| path.store.as_ref().is_some_and(is_over))
    }
}
