//! Collects what extension servers say of themselves, and publishes it when it has changed.

use std::collections::HashMap;
use std::sync::Arc;

use openapi::RemoteSpec;
use parking_lot::Mutex;

use crate::discovery::{PublishRemote, RemoteGroups, RemoteVersion, ResourceDiscovery};

use super::remote_service::RemoteService;

/// A server's description of its group version.
pub(super) struct Described {
    /// The resources.
    pub(super) resources: Arc<Vec<ResourceDiscovery>>,
    /// The URL of its OpenAPI v3 document, if it has one.
    pub(super) openapi: Option<String>,
}

/// The descriptions and the OpenAPI v2 documents of all extension servers.
pub(super) struct KnownDocuments {
    state: Mutex<State>,
    published: Arc<dyn PublishRemote>,
}

#[derive(Default)]
struct State {
    /// By the name of the APIService.
    versions: HashMap<String, RemoteVersion>,
    specs: HashMap<String, Arc<RemoteSpec>>,
}

// === impl KnownDocuments ===

impl KnownDocuments {
    /// Creates an empty collection that is published to `published`.
    pub(super) fn new(published: Arc<dyn PublishRemote>) -> Self {
        Self { state: Mutex::default(), published }
    }

    /// Records what a server says; if it says nothing (`None`), its group version is stale, and has no resources.
    pub(super) fn describe(&self, service: &RemoteService, described: Option<Described>) {
        if !service.is_forwarded() {
            return;
        }
        self.change(|state| {
            let before = state.versions.get(&service.name);
            let is_current = described.is_some();
            let (resources, openapi) = match (described, before) {
                (Some(described), _) => (described.resources, described.openapi),
                (None, before) => (Arc::default(), before.and_then(|before| before.openapi.clone())),
            };
            let version = RemoteVersion {
                group: service.group.clone(),
                version: service.version.clone(),
                priorities: service.priorities,
                is_current,
                resources,
                openapi,
                spec: state.specs.get(&service.name).cloned(),
            };
            let has_changed = before != Some(&version);
            state.versions.insert(service.name.clone(), version);
            has_changed
        });
    }

    /// Records the OpenAPI v2 document of a server.
    pub(super) fn specify(&self, service: &RemoteService, spec: Arc<RemoteSpec>) {
        self.change(|state| {
            state.specs.insert(service.name.clone(), spec.clone());
            match state.versions.get_mut(&service.name) {
                Some(version) if version.spec.as_ref() != Some(&spec) => {
                    version.spec = Some(spec);
                    true
                }
                _ => false,
            }
        });
    }

    /// Forgets what a server says: its APIService is gone.
    pub(super) fn forget(&self, name: &str) {
        self.change(|state| state.versions.remove(name).is_some());
    }

    /// Forgets the OpenAPI v2 document of a server.
    pub(super) fn forget_spec(&self, name: &str) {
        self.change(|state| {
            state.specs.remove(name);
            state.versions.get_mut(name).and_then(|version| version.spec.take()).is_some()
        });
    }

    /// Changes the collection, and publishes it if `change` says so.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.state.lock();
        if change(&mut state) {
            let versions = state.versions.values().cloned().collect();
            // Under the lock, so that an older state never replaces a newer one.
            self.published.publish(RemoteGroups::new(versions));
        }
    }
}
