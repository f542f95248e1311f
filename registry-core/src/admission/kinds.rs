//! The served kinds, for plug-ins that work on any kind.

use std::sync::Arc;

use crate::registry::InstalledPath;

/// The kinds that the server serves, at the moment of each call: kinds may be added and removed while it serves.
///
/// A path gives its [`ResourceType`](crate::resource::ResourceType) (scope, schema, conversions to and from the stored
/// version) and its capabilities, by which objects are read.
///
/// Kubernetes concept: `ObjectInterfaces` in `k8s.io/apiserver/pkg/admission`, and `RESTMapper`.
pub trait ServedKinds: Send + Sync {
    /// Returns the path of a resource, or of its subresource unless that is empty.
    fn path(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        subresource: &str,
    ) -> Option<Arc<InstalledPath>>;

    /// Returns the path of the resource with objects of this kind.
    fn path_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<InstalledPath>>;

    /// Returns every path through which the same objects, or the same subresource of them, are served: this path in each
    /// served version, this one included, the preferred versions first.
    ///
    /// Kubernetes concept: `EquivalentResourceMapper`.
    fn equivalents(&self, path: &InstalledPath) -> Vec<Arc<InstalledPath>>;

    /// Returns the groups with the names of their versions, the preferred one first.
    fn groups(&self) -> Vec<(&'static str, Vec<&'static str>)>;

    /// Returns the paths of all resources and subresources of a group's version.
    fn paths(&self, group: &str, version: &str) -> Vec<Arc<InstalledPath>>;
}

/// A server without kinds, for tests of plug-ins that do not need them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKinds;

// === impl NoKinds ===

impl ServedKinds for NoKinds {
    fn path(&self, _: &str, _: &str, _: &str, _: &str) -> Option<Arc<InstalledPath>> {
        None
    }

    fn path_of_kind(&self, _: &str, _: &str, _: &str) -> Option<Arc<InstalledPath>> {
        None
    }

    fn equivalents(&self, _: &InstalledPath) -> Vec<Arc<InstalledPath>> {
        Vec::new()
    }

    fn groups(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        Vec::new()
    }

    fn paths(&self, _: &str, _: &str) -> Vec<Arc<InstalledPath>> {
        Vec::new()
    }
}
