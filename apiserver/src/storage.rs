//! Opens the storage of every resource over one engine.
//!
//! Kubernetes concept: `RESTOptionsGetter` in `k8s.io/apiserver/pkg/server/options`.

use std::sync::Arc;

use registry_core::ResourceType;
use registry_core::registry::storage_map::OpenStorage;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::{Interface, StorageError};

use crate::options::{StorageChoice, StorageOptions};

mod pending;

/// The storages of one server: one engine, one prefix, and how to put a store and a cache on it.
pub struct Storages {
    engine: Arc<dyn Mvcc>,
    prefix: String,
}

impl Storages {
    /// Opens the engine that the flags choose.
    ///
    /// # Errors
    /// It cannot be opened or reached.
    pub fn open(_choice: &StorageChoice, options: &StorageOptions) -> Result<Self, StorageError> {
        let prefix = format!("/{}", options.etcd_prefix.trim_matches('/'));
        Ok(Self { engine: Arc::new(pending::PendingEngine), prefix })
    }

    /// The engine, for health checks and maintenance.
    pub fn engine(&self) -> &Arc<dyn Mvcc> {
        &self.engine
    }
}

impl OpenStorage for Storages {
    fn open(&self, resource: &'static ResourceType) -> Result<Arc<dyn Interface>, StorageError> {
        Err(StorageError::unavailable(format!("no store of {resource:?} can be opened yet")))
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }
}
