//! Descriptions of groups: this server's own, and those that extension servers and other servers of the cluster give.
//!
//! Kubernetes concept: `APIGroupDiscovery` of `apidiscovery.k8s.io/v2`. Fields are serialized in the order of their names.

use serde::Serialize;

/// Kubernetes' `APIGroupDiscovery`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GroupDiscovery {
    /// The metadata.
    pub(crate) metadata: GroupMetadata,
    /// The versions, the preferred one first.
    pub(crate) versions: Vec<VersionDiscovery>,
}

/// The metadata of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GroupMetadata {
    /// The group; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
}

/// Kubernetes' `APIVersionDiscovery`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct VersionDiscovery {
    /// Whether the resources are those that the server has now.
    pub(crate) freshness: Freshness,
    /// The resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<ResourceDiscovery>,
    /// The version.
    pub(crate) version: String,
}

/// Kubernetes' `DiscoveryFreshness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Freshness {
    /// The resources are those that the server has now.
    Current,
    /// The server has not answered lately.
    Stale,
}

/// Kubernetes' `APIResourceDiscovery`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceDiscovery {
    /// The categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) categories: Vec<String>,
    /// The plural name.
    pub(crate) resource: String,
    /// The kind of the objects.
    pub(crate) response_kind: KindDiscovery,
    /// `Namespaced` or `Cluster`; an extension server may leave it out.
    pub(crate) scope: String,
    /// The short names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) short_names: Vec<String>,
    /// The singular name, which may be empty.
    pub(crate) singular_resource: String,
    /// The subresources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subresources: Vec<SubresourceDiscovery>,
    /// The verbs.
    pub(crate) verbs: Vec<String>,
}

/// Kubernetes' `APISubresourceDiscovery`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubresourceDiscovery {
    /// The kind with which the path responds.
    pub(crate) response_kind: KindDiscovery,
    /// The name.
    pub(crate) subresource: String,
    /// The verbs.
    pub(crate) verbs: Vec<String>,
}

/// The kind with which a path responds. Group and version are empty if they are those of the path. All three are empty if
/// the server does not name a kind, because some clients fail without the field.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct KindDiscovery {
    /// The group.
    pub(crate) group: String,
    /// The kind.
    pub(crate) kind: String,
    /// The version.
    pub(crate) version: String,
}

// === impl GroupDiscovery ===

impl GroupDiscovery {
    /// Returns the description of a group; the core group has an empty name.
    pub(crate) fn new(name: &str, versions: Vec<VersionDiscovery>) -> Self {
        Self { metadata: GroupMetadata { name: name.to_owned() }, versions }
    }

    /// Returns the group; empty for the core group.
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }
}

// === impl ResourceDiscovery ===

impl ResourceDiscovery {
    /// Returns the scope of resources with or without namespaces.
    pub(crate) fn scope(is_namespaced: bool) -> String {
        if is_namespaced { "Namespaced" } else { "Cluster" }.to_owned()
    }
}
