//! Changes of what is served while the server runs.
//!
//! Kubernetes concept: the handlers that `crdHandler` adds and removes as definitions change.

use async_trait::async_trait;

use crate::api::GroupVersionResource;

use super::storage_map::InstalledPath;

/// A change of what is served. It takes effect at once: no request sees a part of it.
#[derive(Default)]
pub struct ServedChange {
    /// The resources that are no longer served.
    pub removed: Vec<GroupVersionResource>,
    /// The resources that are served from now on, each with its subresources. A resource replaces the resource with the
    /// same name.
    pub added: Vec<Vec<InstalledPath>>,
    /// The resources whose definition is being deleted: they are served until their objects are gone, but discovery
    /// does not offer writes to them.
    pub terminating: Vec<GroupVersionResource>,
}

/// Serves resources. Implemented by the HTTP layer.
pub trait ServeResources: Send + Sync + 'static {
    /// Changes what is served. Requests that have begun are completed by the storages that they began with; watches of
    /// resources that are removed or replaced end.
    fn change(&self, change: ServedChange);
}

/// Knows resources that may have been defined through another server, so that they are not served here yet.
#[async_trait]
pub trait LateResources: Send + Sync + 'static {
    /// Waits until the definition of a resource that is not served has been applied. Returns whether there is one; it may
    /// still not serve the requested version.
    async fn wait_for(&self, group: &str, resource: &str) -> bool;
}

// === impl ServedChange ===

impl ServedChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.terminating.is_empty()
    }
}
