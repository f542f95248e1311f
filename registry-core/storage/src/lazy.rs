//! A storage that is opened by its first use.
//!
//! A server may have thousands of custom kinds, of which most are never used. Until its first request, such a kind
//! has neither a cache nor a watch.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use registry_meta::Preconditions;

use super::Revision;
use super::entry::StoredObject;
use super::error::StorageError;
use super::interface::{
    ChangedStream, Interface, ListPage, ListRequest, NewValue, TryUpdate, Updated, ValidateDeletion,
    WatchRequest, WatchStream,
};
use super::mvcc::NotReady;

/// Opens a storage. Called within a Tokio runtime.
type Open = dyn Fn() -> Result<Arc<dyn Interface>, StorageError> + Send + Sync;

/// A storage that is opened by its first request. If that fails, the request fails, and the next one tries again.
pub struct LazyStorage {
    opened: OnceLock<Arc<dyn Interface>>,
    /// Held while the storage is opened, so that it is opened once.
    opening: Mutex<()>,
    open: Box<Open>,
}

// === impl LazyStorage ===

impl LazyStorage {
    /// Creates a storage that calls `open` for its first request.
    pub fn new(
        open: impl Fn() -> Result<Arc<dyn Interface>, StorageError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { opened: OnceLock::new(), opening: Mutex::default(), open: Box::new(open) })
    }

    /// Whether the storage has been opened.
    pub fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    fn inner(&self) -> Result<&Arc<dyn Interface>, StorageError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _opening = self.opening.lock();
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = (self.open)()?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

#[async_trait]
impl Interface for LazyStorage {
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError> {
        self.inner()?.create(key, value, ttl).await
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        self.inner()?.get(key, not_older_than).await
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        self.inner()?.list(prefix, request).await
    }

    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        self.inner()?.watch(prefix, request).await
    }

    async fn changes(
        &self,
        prefix: &str,
        after: Revision,
        with_previous: bool,
    ) -> Result<ChangedStream, StorageError> {
        self.inner()?.changes(prefix, after, with_previous).await
    }

    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        self.inner()?.guaranteed_update(key, preconditions, update, hint).await
    }

    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        self.inner()?.delete(key, preconditions, validate, hint).await
    }

    async fn delete_corrupt(&self, key: &str) -> Result<Revision, StorageError> {
        self.inner()?.delete_corrupt(key).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        self.inner()?.count(prefix).await
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        self.inner()?.current_revision().await
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        self.inner().ok()?.key_revision(key)
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        self.inner()?.request_progress().await
    }

    /// A storage that has not been opened is ready: its first request waits for it.
    fn readiness(&self) -> Result<(), NotReady> {
        self.opened.get().map_or(Ok(()), |opened| opened.readiness())
    }
}

impl fmt::Debug for LazyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyStorage").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::embedded::Embedded;
    use crate::testing::widget_store;

    use super::*;

    #[tokio::test]
    async fn the_first_request_opens_the_storage_and_a_failure_is_not_kept() {
        let attempts = Arc::new(AtomicU32::new(0));
        let counted = attempts.clone();
        let storage = LazyStorage::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
            0 => Err(StorageError::unavailable("not yet")),
            _ => Ok(widget_store(Embedded::in_memory())),
        });
        assert!(storage.readiness().is_ok() && !storage.is_open());
        assert!(storage.get("/a", None).await.is_err());
        assert!(storage.get("/a", None).await.unwrap().is_none());
        assert!(storage.get("/b", None).await.unwrap().is_none() && storage.is_open());
        assert_eq!(attempts.load(Ordering::Relaxed), 2);
    }
}
