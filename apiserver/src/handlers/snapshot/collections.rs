//! The collections of objects that are served, for work that concerns objects of any kind.
//!
//! Kubernetes concept: `ServerGroupsAndResources` of `k8s.io/client-go/discovery`.

use std::sync::Arc;

use registry_core::registry::{InstalledPath, Store};

use crate::discovery::{RemoteVersion, ResourceDiscovery};

use super::Snapshot;
use super::group::ServedGroup;

/// All collections that are served.
#[derive(Default)]
pub(crate) struct ServedCollections {
    /// The collections: groups in the order of discovery, and the preferred version of a group first.
    pub(crate) collections: Vec<ServedCollection>,
    /// The group versions of extension servers that do not respond: what they serve may be incomplete.
    pub(crate) failing: Vec<String>,
}

/// A resource in one version whose objects can be listed.
pub(crate) struct ServedCollection {
    /// The group; empty for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The plural name.
    pub(crate) resource: String,
    /// The kind of the objects.
    pub(crate) kind: String,
    /// Whether objects belong to namespaces.
    pub(crate) is_namespaced: bool,
    /// Whether objects can be watched.
    pub(crate) can_watch: bool,
    /// Whether objects can be deleted.
    pub(crate) can_delete: bool,
    /// Whether all objects of a namespace can be deleted by one request.
    pub(crate) can_delete_collection: bool,
    /// The store of the objects; `None` if an extension server has them.
    pub(crate) store: Option<Arc<Store>>,
}

// === impl Snapshot ===

impl Snapshot {
    /// Returns all collections.
    pub(in super::super) fn collections(&self) -> ServedCollections {
        let mut groups: Vec<&Arc<ServedGroup>> = self.groups.values().collect();
        groups.sort_by_key(|group| group.order());
        let versions = groups.into_iter().flat_map(|group| group.versions());
        let paths = versions.flat_map(|version| version.shared_paths());
        let mut collections: Vec<_> = paths.filter_map(|path| ServedCollection::stored(&path)).collect();
        let mut failing = Vec::new();
        for version in self.remote.versions() {
            if !version.is_current {
                failing.push(format!("{}/{}", version.group, version.version));
            }
            collections.extend(remote_collections(version));
        }
        ServedCollections { collections, failing }
    }

    /// Returns the plural name of the collection of a kind.
    pub(in super::super) fn collection_of_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<String> {
        let own = self.find_version(group, version).and_then(|own| own.route_of_kind(kind));
        if let Some(route) = own.filter(|route| route.path.store.is_some()) {
            return Some(route.path.resource.plural.to_owned());
        }
        let is_asked = |other: &&RemoteVersion| other.group == group && other.version == version;
        let mut collections = self.remote.versions().iter().filter(is_asked).flat_map(remote_collections);
        collections.find(|collection| collection.kind == kind).map(|collection| collection.resource)
    }
}

/// Returns the collections of an extension server in one version.
fn remote_collections(version: &RemoteVersion) -> impl Iterator<Item = ServedCollection> {
    version.resources.iter().filter_map(|resource| ServedCollection::remote(version, resource))
}

// === impl ServedCollection ===

impl ServedCollection {
    /// Returns the collection of a path; `None` for subresources, and for what is not stored.
    fn stored(path: &InstalledPath) -> Option<Self> {
        if path.subresource.is_some() {
            return None;
        }
        let (resource, capabilities) = (&path.resource, &path.capabilities);
        let store = path.store.clone()?;
        Some(Self {
            group: resource.kind.group.to_owned(),
            version: resource.kind.version.to_owned(),
            resource: resource.plural.to_owned(),
            kind: resource.kind.kind.to_owned(),
            is_namespaced: resource.is_namespaced(),
            can_watch: capabilities.watcher.is_some(),
            can_delete: capabilities.deleter.is_some(),
            can_delete_collection: capabilities.collection_deleter.is_some(),
            store: Some(store),
        })
    }

    /// Returns the collection that a document of an extension server describes; `None` if it cannot be listed.
    fn remote(version: &RemoteVersion, resource: &ResourceDiscovery) -> Option<Self> {
        let has = |verb: &str| resource.verbs.iter().any(|own| own == verb);
        has("list").then(|| Self {
            group: version.group.clone(),
            version: version.version.clone(),
            resource: resource.resource.clone(),
            kind: resource.response_kind.kind.clone(),
            is_namespaced: resource.scope == ResourceDiscovery::scope(true),
            can_watch: has("watch"),
            can_delete: has("delete"),
            can_delete_collection: has("deletecollection"),
            store: None,
        })
    }
}
