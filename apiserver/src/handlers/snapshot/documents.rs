//! Responses with the documents of a snapshot.

use http::request::Parts;
use openapi::{self, DescriptionsSource};
use registry_core::api::StatusError;
use responses::Response;

use crate::discovery::{self, DiscoveryPath};

use super::Snapshot;

// === impl Snapshot ===

impl Snapshot {
    /// Returns whether there is a document at this path.
    pub(in crate::handlers) fn has_document(&self, path: &str) -> bool {
        let is_discovery = DiscoveryPath::parse(path).is_some_and(|path| match path {
            DiscoveryPath::Root | DiscoveryPath::Core | DiscoveryPath::Named => true,
            DiscoveryPath::Group(group) => self.has_group(group),
            DiscoveryPath::Version(group, version) => self.find_version(group, version).is_some(),
        });
        is_discovery || openapi::serves(path, self)
    }

    /// Returns whether kube-apiserver refuses HEAD of the document at a path: it does where its router serves GET only,
    /// which are the core group and the versions of built-in kinds.
    pub(in crate::handlers) fn refuses_head(&self, path: &str) -> bool {
        match DiscoveryPath::parse(path) {
            Some(DiscoveryPath::Core) => true,
            Some(DiscoveryPath::Version(group, version)) => {
                self.find_version(group, version).is_some_and(|version| version.has_built_in())
            }
            _ => false,
        }
    }

    /// Returns whether the path belongs to a served group, although the path itself is not served.
    pub(in crate::handlers) fn has_group_of(&self, path: &str) -> bool {
        let mut segments = path.trim_matches('/').split('/');
        match (segments.next(), segments.next()) {
            (Some("api"), Some(_)) => true,
            (Some("apis"), Some(group)) => self.has_group(group),
            _ => false,
        }
    }

    /// Returns a response with the document of OpenAPI at a path, if there is one.
    ///
    /// # Errors
    /// 406.
    pub(in crate::handlers) fn openapi_document(
        &self,
        path: &str,
        parts: &Parts,
        descriptions: DescriptionsSource,
    ) -> Result<Option<Response>, StatusError> {
        self.openapi.get(path, parts, self, descriptions).transpose()
    }

    /// Returns a response with the document of discovery at a path, if there is one, in the format that the client accepts;
    /// `cbor` is whether the server supports CBOR.
    ///
    /// # Errors
    /// 406.
    pub(in crate::handlers) fn discovery_document(
        &self,
        path: &str,
        parts: &Parts,
        cbor: bool,
    ) -> Result<Option<Response>, StatusError> {
        let Some(path) = DiscoveryPath::parse(path) else { return Ok(None) };
        let document = match path {
            DiscoveryPath::Root => self.discovery.root(&self.discovery_groups(|_| true)),
            DiscoveryPath::Core => {
                let groups = || self.discovery_groups(str::is_empty);
                return self.discovery.list(true, groups, None, parts, cbor).map(Some);
            }
            DiscoveryPath::Named => {
                let groups = || self.discovery_groups(|group| !group.is_empty());
                let peers = self.peers.as_deref();
                return self.discovery.list(false, groups, peers, parts, cbor).map(Some);
            }
            DiscoveryPath::Group(name) if self.remote.versions_of(name).next().is_some() => {
                let groups = self.discovery_groups(|group| group == name);
                let Some(group) = groups.first() else { return Ok(None) };
                let documents = discovery::GroupDocuments::default();
                return discovery::response(documents.group(group), parts, cbor).map(Some);
            }
            DiscoveryPath::Group(group) => {
                let Some(group) = self.groups.get(group) else { return Ok(None) };
                group.documents().group(&group.discovery())
            }
            DiscoveryPath::Version(group, version) => {
                let Some(version) = self.find_version(group, version) else { return Ok(None) };
                version.discovery_documents().resources(&version.discovery())
            }
        };
        discovery::response(document, parts, cbor).map(Some)
    }

    /// Returns the groups with these names, in discovery order.
    fn discovery_groups(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<discovery::Group<'_>> {
        let mut groups: Vec<_> = self.groups.values().filter(|group| is_wanted(group.order().1)).collect();
        groups.sort_by_key(|group| group.order());
        let mut groups: Vec<_> = groups.into_iter().map(|group| group.discovery()).collect();
        for name in self.remote.groups().into_iter().filter(|name| is_wanted(name)) {
            let remote: Vec<_> = self.remote.versions_of(name).map(discovery::Version::from_remote).collect();
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.merge(remote),
                None => groups.push(discovery::Group::from_remote(name, remote)),
            }
        }
        groups
    }

    fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group) || self.remote.versions_of(group).next().is_some()
    }
}
