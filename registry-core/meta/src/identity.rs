//! Names of groups, versions, kinds and resources, and the order of versions.

mod version_priority;

use std::fmt;

pub use version_priority::compare_versions;

/// An API group and version, as in `apiVersion`. The core group is the empty string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// The group, for example `apps`; empty for the core group.
    pub group: &'static str,
    /// The version, for example `v1`.
    pub version: &'static str,
}

/// A kind in a group and version, for example `apps/v1 Deployment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupVersionKind {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind, in CamelCase.
    pub kind: &'static str,
}

/// A resource in a group and version, for example `deployments` in `apps/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The plural, lower-case resource name.
    pub resource: &'static str,
}

/// A resource in a group, independent of the version; used in error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupResource {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The plural, lower-case resource name.
    pub resource: &'static str,
}

/// Whether objects of a kind belong to a namespace or to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects belong to a namespace; names are unique within it.
    Namespaced,
    /// Objects do not belong to a namespace; names are unique in the cluster.
    Cluster,
}

/// Divides an `apiVersion` into the group, which is empty for the core group, and the version.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

impl GroupVersion {
    /// Returns the group and version in the form of `apiVersion`: `v1`, `apps/v1`.
    pub fn api_version(self) -> String {
        self.to_string()
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// Writes the qualified resource name used in error messages: `deployments.apps`, `pods`.
impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

impl GroupVersionKind {
    /// Returns the group and version.
    pub const fn group_version(self) -> GroupVersion {
        GroupVersion { group: self.group, version: self.version }
    }
}

impl GroupVersionResource {
    /// Returns the group and resource.
    pub const fn group_resource(self) -> GroupResource {
        GroupResource { group: self.group, resource: self.resource }
    }

    /// Returns the group and version.
    pub const fn group_version(self) -> GroupVersion {
        GroupVersion { group: self.group, version: self.version }
    }
}
