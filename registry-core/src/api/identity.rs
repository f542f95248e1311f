//! Names of kinds and resources.

use std::fmt;

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

/// A resource in a group, whatever the version: what error messages name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupResource {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The plural, lower-case resource name.
    pub resource: &'static str,
}

/// Whether objects of a kind live in a namespace or in the cluster as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects live in a namespace; names are unique within it.
    Namespaced,
    /// Objects live beside namespaces; names are unique in the cluster.
    Cluster,
}

impl GroupVersion {
    /// The group and version as `apiVersion` has them: `v1`, `apps/v1`.
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

/// `deployments.apps`, `pods`: the qualified resource name error messages carry.
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
    /// The group and version alone.
    pub const fn group_version(self) -> GroupVersion {
        GroupVersion { group: self.group, version: self.version }
    }
}

impl GroupVersionResource {
    /// The group and resource alone.
    pub const fn group_resource(self) -> GroupResource {
        GroupResource { group: self.group, resource: self.resource }
    }

    /// The group and version alone.
    pub const fn group_version(self) -> GroupVersion {
        GroupVersion { group: self.group, version: self.version }
    }
}
