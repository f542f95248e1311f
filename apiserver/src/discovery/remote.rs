//! Group versions that extension servers serve, as discovery describes them.

use std::sync::Arc;

use openapi::RemoteSpec;
use registry_core::api::compare_versions;
use resources::api::apiregistration::apiservices::local::Priorities;

use super::described::ResourceDiscovery;

/// The group versions of extension servers, by priority.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RemoteGroups {
    versions: Vec<RemoteVersion>,
}

/// A group version of an extension server, as its documents describe it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RemoteVersion {
    /// The group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The priorities of the group, and of the version in it.
    pub(crate) priorities: Priorities,
    /// Whether the server has responded lately.
    pub(crate) is_current: bool,
    /// The resources.
    pub(crate) resources: Arc<Vec<ResourceDiscovery>>,
    /// The URL of its OpenAPI v3 document, with the hash, if it has one.
    pub(crate) openapi: Option<String>,
    /// Its OpenAPI v2 document, if it has one.
    pub(crate) spec: Option<Arc<RemoteSpec>>,
}

/// Publishes group versions of extension servers.
pub(crate) trait PublishRemote: Send + Sync + 'static {
    /// Replaces the group versions of all extension servers.
    fn publish(&self, groups: RemoteGroups);
}

// === impl RemoteGroups ===

impl RemoteGroups {
    /// Creates a set of group versions, and sorts them by priority.
    pub(crate) fn new(mut versions: Vec<RemoteVersion>) -> Self {
        versions.sort_by(|a, b| {
            let (of_a, of_b) = (a.priorities, b.priorities);
            let groups = of_b.group.cmp(&of_a.group).then_with(|| a.group.cmp(&b.group));
            let versions = of_b.version.cmp(&of_a.version);
            groups.then(versions).then_with(|| compare_versions(&b.version, &a.version))
        });
        Self { versions }
    }

    /// Whether the OpenAPI documents are those of `before`.
    pub(crate) fn has_openapi_of(&self, before: &Self) -> bool {
        let is_same = |(own, other): (&RemoteVersion, &RemoteVersion)| {
            (&own.group, &own.version, &own.openapi, &own.spec)
                == (&other.group, &other.version, &other.openapi, &other.spec)
        };
        self.versions.len() == before.versions.len()
            && self.versions.iter().zip(&before.versions).all(is_same)
    }

    /// Returns all group versions, by priority.
    pub(crate) fn versions(&self) -> &[RemoteVersion] {
        &self.versions
    }

    /// Returns the versions of a group, by priority.
    pub(crate) fn versions_of(&self, group: &str) -> impl Iterator<Item = &RemoteVersion> {
        self.versions.iter().filter(move |version| version.group == group)
    }

    /// Returns the groups, by priority.
    pub(crate) fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for version in &self.versions {
            if !groups.contains(&version.group.as_str()) {
                groups.push(&version.group);
            }
        }
        groups
    }
}
