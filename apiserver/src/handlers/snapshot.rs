//! A snapshot of everything served: the routes and documents of every group and version.
//!
//! A snapshot is immutable, and a request uses one snapshot. A change creates the group versions that it concerns
//! anew and shares all others with the previous snapshot, so that its cost does not depend on their number.
//!
//! Kubernetes concept: the handlers that `GenericAPIServer` and `crdHandler` choose from by the request's path.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use registry_core::api::{GroupVersionResource, StatusError};
use registry_core::registry::{InstalledApi, InstalledPath, ServedChange};
use request_info::{RequestInfo, ResourceRequest};

use crate::discovery::{PeerGroups, RemoteGroups, RemoteVersion};
use crate::metrics::RequestMetrics;
use crate::{discovery, openapi};

use super::ending::Ending;
use super::routing::{Missing, Route};

mod collections;
mod documents;
mod group;

pub(crate) use collections::{ServedCollection, ServedCollections};
use group::{ServedGroup, ServedVersion};

/// A snapshot of what is served.
#[derive(Default)]
pub(crate) struct Snapshot {
    groups: imbl::HashMap<&'static str, Arc<ServedGroup>>,
    /// The kinds of the storage maps, wherever they are served.
    kinds: Arc<HashSet<(&'static str, &'static str, &'static str)>>,
    /// The groups of the resources that several groups serve, by storage prefix.
    shared: Arc<HashMap<&'static str, Vec<&'static str>>>,
    /// The group versions of extension servers.
    remote: Arc<RemoteGroups>,
    /// The groups of other servers of the cluster; `None` if they are not followed.
    peers: Option<Arc<PeerGroups>>,
    discovery: discovery::ServerDocuments,
    openapi: Arc<openapi::ServerDocuments>,
}

/// The origin of the first resource of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Kubernetes' own storage maps.
    BuiltIn,
    /// The storage map of an author.
    Author,
    /// A definition, while the server runs.
    Definition,
}

// === impl Snapshot ===

impl Snapshot {
    /// Returns a snapshot of everything that storage maps have installed.
    pub(super) fn new(installed: &InstalledApi, metrics: &RequestMetrics, ending: &Ending) -> Self {
        let mut served = Self::default();
        let mut kinds = HashSet::new();
        for path in &installed.paths {
            let route = Route::new(path.clone(), metrics, ending.clone());
            kinds.insert((route.kind.group, route.kind.version, route.kind.kind));
            let origin = if path.resource.is_builtin { Origin::BuiltIn } else { Origin::Author };
            served.group_mut(path.resource.kind.group, origin).add(Arc::new(route));
        }
        Self { kinds: Arc::new(kinds), shared: Arc::new(shared_between_groups(installed)), ..served }
    }

    /// Returns the snapshot after a change, and the routes that are not part of it any more.
    pub(super) fn after(
        &self,
        change: ServedChange,
        metrics: &RequestMetrics,
        ending: &Ending,
    ) -> (Self, Vec<Arc<Route>>) {
        let mut next = self.without_documents();
        let mut ended = Vec::new();
        for resource in change.removed {
            ended.append(&mut next.remove(resource));
        }
        for paths in change.added {
            let Some(resource) = paths.first().map(|path| path.resource.resource()) else { continue };
            ended.append(&mut next.remove(resource));
            let ending = ending.removable();
            for path in paths {
                let route = Route::new(path, metrics, ending.clone());
                next.group_mut(resource.group, Origin::Definition).add(Arc::new(route));
            }
        }
        for resource in change.terminating {
            if let Some(group) = next.groups.get_mut(resource.group) {
                Arc::make_mut(group).set_terminating(resource);
            }
        }
        (next, ended)
    }

    /// Returns a copy that is to be changed.
    fn without_documents(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            kinds: self.kinds.clone(),
            shared: self.shared.clone(),
            remote: self.remote.clone(),
            peers: self.peers.clone(),
            discovery: discovery::ServerDocuments::default(),
            openapi: Arc::default(),
        }
    }

    /// Returns the snapshot with these group versions of extension servers.
    pub(super) fn with_remote(&self, remote: RemoteGroups) -> Self {
        let next = self.without_documents();
        let openapi = if remote.has_openapi_of(&self.remote) { self.openapi.clone() } else { Arc::default() };
        Self { remote: Arc::new(remote), openapi, ..next }
    }

    /// Returns the snapshot with these groups of other servers. They have no part in OpenAPI.
    pub(super) fn with_peers(&self, peers: PeerGroups) -> Self {
        Self { peers: Some(Arc::new(peers)), openapi: self.openapi.clone(), ..self.without_documents() }
    }

    /// Whether this server serves a resource itself, or forwards requests for it to an extension server.
    pub(super) fn serves(&self, group: &str, version: &str, resource: &str) -> bool {
        let served = self.find_version(group, version);
        served.is_some_and(|served| served.route(resource, "").is_some())
            || self.remote.versions_of(group).any(|remote| remote.version == version)
    }

    fn remove(&mut self, resource: GroupVersionResource) -> Vec<Arc<Route>> {
        let Some(group) = self.groups.get_mut(resource.group) else { return Vec::new() };
        let group = Arc::make_mut(group);
        let removed = group.remove(resource);
        if group.is_empty() {
            self.groups.remove(resource.group);
        }
        removed
    }

    fn group_mut(&mut self, name: &'static str, origin: Origin) -> &mut ServedGroup {
        let position = if origin == Origin::BuiltIn { self.groups.len() } else { usize::MAX };
        let is_custom = origin == Origin::Definition;
        let new = || Arc::new(ServedGroup::new(name, position, is_custom));
        let group = self.groups.entry(name).or_insert_with(new);
        Arc::make_mut(group)
    }

    /// Returns whether this kind is known, wherever it is served.
    pub(super) fn knows_kind(&self, group: &str, version: &str, kind: &str) -> bool {
        let is_served = || self.find_version(group, version).is_some_and(|version| version.has_kind(kind));
        self.kinds.contains(&(group, version, kind)) || is_served()
    }

    /// Returns the route of a request, if its path has one and is well formed for the verb.
    pub(super) fn route(
        &self,
        info: &RequestInfo,
        request: &ResourceRequest,
    ) -> Result<&Arc<Route>, Missing> {
        let group = self.groups.get(request.group.as_str()).ok_or(Missing::Page)?;
        if group.is_custom {
            return Self::custom_route(group, info, request);
        }
        let version = group.version(&request.version).ok_or(Missing::Resource)?;
        // A definition in a version that the server serves itself is hidden by it, as in Kubernetes.
        let is_hidden = |route: &Arc<Route>| route.is_custom() && version.has_built_in();
        let route = version.route(&request.resource, &request.subresource);
        let route = route.filter(|route| !is_hidden(route)).ok_or(Missing::Resource)?;
        route.check_shape(info, request)?;
        Ok(route)
    }

    /// Returns the route of a request for a custom resource.
    ///
    /// Kubernetes concept: `crdHandler`, which leaves a path that no definition serves to the handler of unknown paths.
    fn custom_route<'s>(
        group: &'s ServedGroup,
        info: &RequestInfo,
        request: &ResourceRequest,
    ) -> Result<&'s Arc<Route>, Missing> {
        let version = group.version(&request.version).ok_or(Missing::Page)?;
        let main = version.route(&request.resource, "").ok_or(Missing::Page)?;
        let route = version.route(&request.resource, &request.subresource);
        route.unwrap_or(main).check_shape(info, request).map_err(|_| Missing::Page)?;
        route.ok_or_else(|| {
            let resource = main.path.resource.group_resource();
            Missing::Subresource(Box::new(StatusError::not_found(resource, &request.name)))
        })
    }

    /// Returns every path through which the objects of this one are served, or the same subresource of them.
    pub(super) fn equivalents(&self, path: &InstalledPath) -> Vec<Arc<InstalledPath>> {
        let resource = &path.resource;
        let groups = self.shared.get(resource.storage_prefix).map_or(&[][..], Vec::as_slice);
        let own = [resource.kind.group];
        let groups = if groups.is_empty() { &own } else { groups };
        let versions =
            groups.iter().filter_map(|group| self.groups.get(group)).flat_map(|group| group.versions());
        let routes = versions
            .filter_map(|version| version.route(resource.plural, path.subresource.unwrap_or_default()));
        routes
            .filter(|route| route.path.resource.storage_prefix == resource.storage_prefix)
            .map(|route| route.path.clone())
            .collect()
    }

    /// Returns the groups in the order of discovery, with the names of their versions.
    pub(super) fn group_versions(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let mut groups: Vec<&Arc<ServedGroup>> = self.groups.values().collect();
        groups.sort_by_key(|group| group.order());
        let versions = |group: &ServedGroup| group.versions().map(|version| version.name()).collect();
        groups.into_iter().map(|group| (group.name(), versions(group))).collect()
    }

    /// Returns a version of a group.
    pub(super) fn find_version(&self, group: &str, version: &str) -> Option<&Arc<ServedVersion>> {
        self.groups.get(group)?.version(version)
    }
}

/// Returns the groups of the resources that several groups serve (events), by storage prefix.
fn shared_between_groups(installed: &InstalledApi) -> HashMap<&'static str, Vec<&'static str>> {
    let mut groups = HashMap::<&'static str, Vec<&'static str>>::new();
    for path in &installed.paths {
        let known = groups.entry(path.resource.storage_prefix).or_default();
        if path.store.is_some() && !known.contains(&path.resource.kind.group) {
            known.push(path.resource.kind.group);
        }
    }
    groups.retain(|_, groups| groups.len() > 1);
    groups
}

impl openapi::ServedVersions for Snapshot {
    fn version(&self, group: &str, version: &str) -> Option<openapi::Version<'_>> {
        self.find_version(group, version).map(|version| version.openapi())
    }

    fn versions(&self) -> Vec<openapi::Version<'_>> {
        self.groups.values().flat_map(|group| group.versions()).map(|version| version.openapi()).collect()
    }

    fn remote(&self) -> Vec<(String, &str)> {
        let remote = self.remote.versions().iter();
        let entry = |version: &'_ RemoteVersion| format!("apis/{}/{}", version.group, version.version);
        remote.filter_map(|version| Some((entry(version), version.openapi.as_deref()?))).collect()
    }

    fn remote_specs(&self) -> Vec<Arc<openapi::RemoteSpec>> {
        self.remote.versions().iter().filter_map(|version| version.spec.clone()).collect()
    }
}
