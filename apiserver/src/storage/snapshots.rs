//! The state of all resources, and the way back to it, for tests.

use std::sync::Weak;

use registry_core::storage::Revision;
use registry_core::storage::embedded::{Embedded, Snapshot};
use registry_core::storage::mvcc::MvccError;

use super::{Engine, Storages};

// === impl Storages ===

impl Storages {
    /// Returns the state of all resources.
    ///
    /// # Errors
    /// Fails if the engine cannot be read, or is etcd.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, MvccError> {
        self.embedded()?.snapshot().await
    }

    /// Returns to a state of all resources, by changes that watches see. Reads that begin after it are not older.
    ///
    /// # Errors
    /// As a write, or because the engine is etcd.
    pub(crate) async fn restore(&self, snapshot: &Snapshot) -> Result<Revision, MvccError> {
        let revision = self.embedded()?.restore(snapshot).await?;
        // It was not written by way of the caches: they have to know of it.
        self.shared_watch.client().current_revision().await?;
        let caches: Vec<_> = self.caches.lock().iter().filter_map(Weak::upgrade).collect();
        for cache in caches {
            cache.observe(revision);
        }
        Ok(revision)
    }

    fn embedded(&self) -> Result<&Embedded, MvccError> {
        match &self.engine {
            Engine::Embedded(engine) => Ok(engine),
            #[cfg(feature = "etcd3")]
            Engine::Etcd3(_) => Err(MvccError::Unavailable("etcd has no snapshots to return to".into())),
        }
    }
}
