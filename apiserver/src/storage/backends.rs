//! Resources whose objects an author's backend keeps: each has an engine of its own.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use registry_core::api::GroupResource;
use registry_core::storage::StorageError;
use registry_core::storage::embedded::backend::Backend;
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};

/// The backends of a server, by resource.
#[derive(Default)]
pub(crate) struct Backends {
    given: HashMap<GroupResource, Arc<dyn Backend>>,
    engines: Mutex<Vec<(GroupResource, Arc<Embedded>)>>,
}

// === impl Backends ===

impl Backends {
    /// Creates the value for these backends.
    pub(crate) fn new(given: HashMap<GroupResource, Arc<dyn Backend>>) -> Self {
        Self { given, engines: Mutex::default() }
    }

    /// Opens the engine of a resource, whose keys have this prefix; `None` if no backend keeps its objects.
    ///
    /// # Errors
    /// Fails if the backend cannot load its objects.
    pub(super) fn open(
        &self,
        resource: GroupResource,
        prefix: &str,
    ) -> Result<Option<Arc<Embedded>>, StorageError> {
        let Some(backend) = self.given.get(&resource) else { return Ok(None) };
        let opened = Embedded::backed(backend.clone(), prefix, EmbeddedOptions::new(""));
        let engine = opened.map_err(StorageError::unavailable)?;
        self.engines.lock().push((resource, engine.clone()));
        Ok(Some(engine))
    }

    /// Returns the engines, for health checks.
    pub(crate) fn engines(&self) -> Vec<(GroupResource, Arc<Embedded>)> {
        self.engines.lock().clone()
    }

    /// Returns a resource with a backend that no storage map has.
    pub(crate) fn unserved(&self) -> Option<GroupResource> {
        let engines = self.engines.lock();
        let is_open = |resource: &&GroupResource| engines.iter().any(|(open, _)| open == *resource);
        self.given.keys().find(|resource| !is_open(resource)).copied()
    }
}
