//! The routes and documents of one group.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use registry_core::api::{GroupVersion, GroupVersionResource};
use registry_core::registry::InstalledPath;

use crate::{discovery, openapi};

use super::super::routing::Route;

/// A served group.
pub(super) struct ServedGroup {
    name: &'static str,
    /// Position among the groups in discovery: Kubernetes' own groups keep the order of their storage map; all others
    /// follow by name.
    position: usize,
    /// Whether definitions made the group, not a storage map.
    pub(super) is_custom: bool,
    /// The preferred version first.
    versions: Vec<Arc<ServedVersion>>,
    documents: discovery::GroupDocuments,
}

/// A served version of a group.
pub(in super::super) struct ServedVersion {
    id: GroupVersion,
    /// The routes of each resource.
    resources: HashMap<&'static str, Vec<Arc<Route>>>,
    /// The resources whose definition is being deleted.
    terminating: BTreeSet<&'static str>,
    discovery: discovery::VersionDocuments,
    openapi: openapi::VersionDocument,
}

/// Without documents: a copy is made to be changed.
impl Clone for ServedGroup {
    fn clone(&self) -> Self {
        let documents = discovery::GroupDocuments::default();
        let versions = self.versions.clone();
        Self { name: self.name, position: self.position, is_custom: self.is_custom, versions, documents }
    }
}

/// Without documents: a copy is made to be changed.
impl Clone for ServedVersion {
    fn clone(&self) -> Self {
        let terminating = self.terminating.clone();
        Self { resources: self.resources.clone(), terminating, ..Self::new(self.id) }
    }
}

// === impl ServedGroup ===

impl ServedGroup {
    /// Creates a group without versions.
    pub(super) fn new(name: &'static str, position: usize, is_custom: bool) -> Self {
        let documents = discovery::GroupDocuments::default();
        Self { name, position, is_custom, versions: Vec::new(), documents }
    }

    /// Adds a route.
    pub(super) fn add(&mut self, route: Arc<Route>) {
        let id = route.path.resource.group_version();
        if let Some(version) = self.versions.iter_mut().find(|version| version.id == id) {
            let resources = &mut Arc::make_mut(version).resources;
            resources.entry(route.path.resource.plural).or_default().push(route);
            return;
        }
        let mut version = ServedVersion::new(id);
        version.resources.insert(route.path.resource.plural, vec![route]);
        self.versions.push(Arc::new(version));
        discovery::sort_by_preference(&mut self.versions, |version| version.id.version);
    }

    /// Removes a resource with its subresources, and returns their routes.
    pub(super) fn remove(&mut self, resource: GroupVersionResource) -> Vec<Arc<Route>> {
        let version = self.versions.iter_mut().find(|version| version.id.version == resource.version);
        let Some(version) = version else { return Vec::new() };
        let version = Arc::make_mut(version);
        let removed = version.resources.remove(resource.resource).unwrap_or_default();
        version.terminating.remove(resource.resource);
        if version.resources.is_empty() {
            self.versions.retain(|version| version.id.version != resource.version);
        }
        removed
    }

    /// Records that the definition of a resource is being deleted.
    pub(super) fn set_terminating(&mut self, resource: GroupVersionResource) {
        let version = self.versions.iter_mut().find(|version| version.id.version == resource.version);
        if let Some(version) = version {
            Arc::make_mut(version).terminating.insert(resource.resource);
        }
    }

    /// Returns whether the group has no versions.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Returns the group's name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the sort key of groups in discovery.
    pub(super) fn order(&self) -> (usize, &'static str) {
        (self.position, self.name)
    }

    /// Returns a version by its name.
    pub(super) fn version(&self, name: &str) -> Option<&Arc<ServedVersion>> {
        self.versions.iter().find(|version| version.id.version == name)
    }

    /// Returns the versions, the preferred one first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Arc<ServedVersion>> {
        self.versions.iter()
    }

    /// Returns the group as discovery describes it.
    pub(super) fn discovery(&self) -> discovery::Group<'_> {
        let versions = self.versions.iter().map(|version| version.discovery()).collect();
        discovery::Group { name: self.name, versions }
    }

    /// Returns the discovery documents of the group.
    pub(super) fn documents(&self) -> &discovery::GroupDocuments {
        &self.documents
    }
}

// === impl ServedVersion ===

impl ServedVersion {
    fn new(id: GroupVersion) -> Self {
        Self {
            id,
            resources: HashMap::new(),
            terminating: BTreeSet::new(),
            discovery: discovery::VersionDocuments::default(),
            openapi: openapi::VersionDocument::default(),
        }
    }

    /// Returns the route of a resource, or of its subresource unless that is empty.
    pub(in super::super) fn route(&self, resource: &str, subresource: &str) -> Option<&Arc<Route>> {
        let routes = self.resources.get(resource)?;
        routes.iter().find(|route| route.path.subresource.unwrap_or_default() == subresource)
    }

    /// Returns whether a resource of this version is compiled into the server.
    pub(super) fn has_built_in(&self) -> bool {
        self.resources.values().flatten().any(|route| !route.is_custom())
    }

    /// Returns whether a resource of this version has this kind.
    pub(super) fn has_kind(&self, kind: &str) -> bool {
        self.route_of_kind(kind).is_some()
    }

    /// Returns the route of the resource of this kind.
    pub(in super::super) fn route_of_kind(&self, kind: &str) -> Option<&Arc<Route>> {
        let mut main = self.resources.values().filter_map(|routes| routes.first());
        main.find(|route| route.path.resource.kind.kind == kind)
    }

    /// Returns the paths of all resources and subresources.
    pub(in super::super) fn shared_paths(&self) -> Vec<Arc<InstalledPath>> {
        self.resources.values().flatten().map(|route| route.path.clone()).collect()
    }

    /// Returns the version's name.
    pub(super) fn name(&self) -> &'static str {
        self.id.version
    }

    /// Returns the version as discovery describes it.
    pub(super) fn discovery(&self) -> discovery::Version<'_> {
        discovery::Version {
            group: self.id.group,
            name: self.id.version,
            paths: self.discovered_paths(),
            terminating: &self.terminating,
            remote: None,
        }
    }

    /// Returns the discovery documents of the version.
    pub(super) fn discovery_documents(&self) -> &discovery::VersionDocuments {
        &self.discovery
    }

    /// Returns the version as OpenAPI describes it.
    pub(super) fn openapi(&self) -> openapi::Version<'_> {
        openapi::Version { id: self.id, paths: self.paths(), document: &self.openapi }
    }

    /// Returns the paths that discovery describes: those of definitions only if the server does not serve the version
    /// itself, as whose requests it would answer them.
    fn discovered_paths(&self) -> Vec<&InstalledPath> {
        let mut paths = self.paths();
        if self.has_built_in() {
            paths.retain(|path| !path.resource.schema.is_custom());
        }
        paths
    }

    /// Returns the paths, by resource and subresource.
    fn paths(&self) -> Vec<&InstalledPath> {
        let mut paths: Vec<_> = self.resources.values().flatten().map(|route| &*route.path).collect();
        paths.sort_by_key(|path| (path.resource.plural, path.subresource));
        paths
    }
}
