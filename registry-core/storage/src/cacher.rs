//! The watch cache: a decorator that serves reads and watches of one resource from memory.
//!
//! - CacheState: a persistent ordered map, so that a list, and every further page of it, is an atomic snapshot;
//!   nothing is locked while it streams.
//! - History: one bounded log of events, shared by all watchers. A watcher is a cursor into it: it needs no buffer,
//!   and only a watcher whose cursor falls off the log's old end must list again.
//! - Watchers of one key, one namespace or one value of an indexed field have their own channel, and are woken only
//!   by its events.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/cacher`.

mod budget;
mod confirming;
mod event_channel;
mod event_channels;
mod feed;
mod filling;
mod handover;
mod initial;
mod lister;
mod notifier;
mod snapshots;
mod state;
mod watcher;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::{CacheMetrics, CacheSource};
use registry_meta::Preconditions;

use super::Revision;
use super::entry::StoredObject;
use super::error::StorageError;
use super::interface::{
    Interface, ListPage, ListRequest, NewValue, TryUpdate, Updated, ValidateDeletion, WatchRequest,
    WatchStream,
};
use super::mvcc::NotReady;

pub use budget::CacheBudget;
use snapshots::Snapshot;
use state::CacheState;

/// Time that a read waits for the cache to reach a revision before it fails (as in Kubernetes).
const FRESH_TIMEOUT: Duration = Duration::from_secs(3);

/// Time that a consistent read waits for the cache before it is sent to the store.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(250);

/// Options of a cache.
#[derive(Clone, Debug)]
pub struct CacherOptions {
    /// The resource's key prefix, with a trailing slash.
    pub prefix: String,
    /// Selectable fields that have their own channels.
    pub indexes: &'static [&'static str],
    /// Memory budget of all caches together.
    pub budget: Arc<CacheBudget>,
    /// Maximum number of events kept for watchers to resume from.
    pub history_events: usize,
    /// Interval between bookmarks, for watchers that request them.
    pub bookmark_period: Duration,
}

/// A cache in front of a store of one resource.
pub struct Cacher {
    inner: Arc<dyn Interface>,
    state: Arc<CacheState>,
    options: CacherOptions,
    /// The newest revision known from outside the cache: from a write, or from the store itself.
    observed: Arc<AtomicU64>,
    /// The newest revision that a read has waited for without success.
    stalled: AtomicU64,
    /// One fills the cache, the other one confirms what it holds.
    _tasks: [AbortOnDropHandle<()>; 2],
    /// For watches that may later move from the store to the cache.
    own: Weak<Self>,
}

impl Cacher {
    /// Creates a cache in front of a store, and starts to fill it. Must be called within a Tokio runtime.
    pub fn new(inner: Arc<dyn Interface>, options: CacherOptions) -> Arc<Self> {
        Self::with_metrics(inner, options, CacheMetrics::default())
    }

    /// Like [`new`](Self::new), with metrics.
    pub fn with_metrics(
        inner: Arc<dyn Interface>,
        options: CacherOptions,
        metrics: CacheMetrics,
    ) -> Arc<Self> {
        let state = Arc::new(CacheState::new(&options, metrics));
        let (store, cache, prefix) = (inner.clone(), state.clone(), options.prefix.clone());
        let feed = tokio::spawn(async move { feed::run(&*store, &cache, &prefix).await });
        let (store, cache, prefix) = (inner.clone(), state.clone(), options.prefix.clone());
        let confirming = tokio::spawn(async move { confirming::run(&*store, &cache, &prefix).await });
        Arc::new_cyclic(|own| Self {
            inner,
            state,
            options,
            observed: Arc::default(),
            stalled: AtomicU64::new(0),
            _tasks: [feed, confirming].map(AbortOnDropHandle::new),
            own: own.clone(),
        })
    }

    /// Returns the source of the cache's metrics.
    pub fn source(&self) -> Weak<dyn CacheSource> {
        let state: Arc<dyn CacheSource> = self.state.clone();
        Arc::downgrade(&state)
    }

    /// Records a revision that was observed outside the cache: no read from now on is older.
    pub fn observe(&self, revision: Revision) {
        self.observed.fetch_max(revision, Ordering::AcqRel);
    }

    /// Waits until the cache has reached the newest revision of the whole store. A list shows that revision, and
    /// clients use it for other resources too. `false` sends the read to the store.
    ///
    /// # Errors
    /// Fails if the store does not return its newest revision: it could not serve the read itself either.
    async fn catch_up(&self) -> Result<bool, StorageError> {
        if !self.state.is_filled() || !self.state.holds_objects() {
            return Ok(false);
        }
        let newest = self.inner.current_revision().await?;
        let caught_up = self.catch_up_to(newest).await;
        self.state.metrics.read_consistently(caught_up);
        Ok(caught_up)
    }

    /// Returns a snapshot with the newest state of an object. `None` sends the read to the store, also while it is not confirmed
    /// that the stored values can be read.
    ///
    /// A store that knows the newest revision of each key, as the embedded one does, needs no progress of the whole cache: the
    /// cached state is the newest if it has that revision.
    async fn snapshot_with_newest(&self, key: &str) -> Result<Option<Snapshot>, StorageError> {
        if !self.state.is_confirmed() {
            return Ok(None);
        }
        let Some(newest) = self.inner.key_revision(key) else {
            let caught_up = self.catch_up().await?;
            return Ok(self.state.snapshot().filter(|_| caught_up));
        };
        let is_newest = |snapshot: &Snapshot| {
            let cached = snapshot.objects.get(key).map_or(0, |object| object.revision);
            cached == newest
        };
        let snapshot = self.state.snapshot().filter(is_newest);
        self.state.metrics.read_consistently(snapshot.is_some());
        Ok(snapshot)
    }

    /// Like `catch_up`, for a read of any available state: it must not be older than any observed revision.
    async fn catch_up_with_observed(&self) -> bool {
        self.catch_up_to(self.observed.load(Ordering::Acquire)).await
    }

    /// Waits until the cache has reached the revision that a client requested, and every observed revision. `false`
    /// sends the read to the store: the store has that revision, but the cache does not reach it in time.
    ///
    /// # Errors
    /// [`StorageError::FutureRevision`] if neither the cache nor the store reaches the revision in time.
    async fn catch_up_with_named(&self, revision: Revision) -> Result<bool, StorageError> {
        if self.state.reached() < revision {
            // If the store does not report progress, the cache stays behind while nothing is written.
            let exists = self.inner.current_revision().await.is_ok_and(|newest| newest >= revision);
            if exists && !self.catch_up_to(revision).await {
                return Ok(false);
            }
            self.state.reach(revision, FRESH_TIMEOUT).await?;
        }
        Ok(self.catch_up_with_observed().await)
    }

    async fn catch_up_to(&self, revision: Revision) -> bool {
        let reached = self.state.reached();
        if reached == 0 {
            return false;
        }
        if reached >= revision {
            return true;
        }
        // If the store cannot report the progress of its watches, no read waits for the same revision twice.
        if reached < self.stalled.load(Ordering::Acquire) || self.inner.request_progress().await.is_err() {
            return false;
        }
        let in_time = self.state.reach(revision, CATCH_UP_TIMEOUT).await.is_ok();
        if !in_time {
            self.stalled.fetch_max(revision, Ordering::AcqRel);
        }
        in_time
    }

    /// Returns the cached object under a key, as a hint for writes.
    fn hint(&self, key: &str) -> Option<StoredObject> {
        self.state.snapshot().filter(|_| self.state.is_confirmed())?.objects.get(key).cloned()
    }
}

#[async_trait]
impl Interface for Cacher {
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError> {
        let created = self.inner.create(key, value, ttl).await?;
        self.observe(created.revision);
        Ok(created)
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        let snapshot = match not_older_than {
            None => self.snapshot_with_newest(key).await?,
            Some(revision) if self.state.is_filled() && self.state.holds_objects() => {
                let caught_up = self.catch_up_with_named(revision).await?;
                self.state.snapshot().filter(|_| caught_up)
            }
            Some(_) => None,
        };
        if let Some(snapshot) = snapshot {
            return Ok(snapshot.objects.get(key).cloned());
        }
        let got = self.inner.get(key, not_older_than).await?;
        self.observe(got.as_ref().map_or(0, |object| object.revision));
        Ok(got)
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        if let Some(source) = self.snapshot_for(prefix, request).await? {
            return self.state.page(source, prefix, request);
        }
        let page = self.inner.list(prefix, request).await?;
        self.observe(page.revision);
        Ok(page)
    }

    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        self.open_watch(prefix, request).await
    }

    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        let hint = hint.or_else(|| self.hint(key));
        let updated = self.inner.guaranteed_update(key, preconditions, update, hint).await?;
        self.observe(updated.object.revision);
        Ok(updated)
    }

    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        let hint = hint.or_else(|| self.hint(key));
        let deleted = self.inner.delete(key, preconditions, validate, hint).await?;
        self.observe(deleted.revision);
        Ok(deleted)
    }

    async fn delete_corrupt(&self, key: &str) -> Result<Revision, StorageError> {
        let revision = self.inner.delete_corrupt(key).await?;
        self.observe(revision);
        Ok(revision)
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        if prefix == self.options.prefix
            && self.catch_up().await?
            && let Some(snapshot) = self.state.snapshot()
        {
            return Ok(snapshot.objects.len() as u64);
        }
        self.inner.count(prefix).await
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        self.inner.current_revision().await
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        self.inner.request_progress().await
    }

    fn readiness(&self) -> Result<(), NotReady> {
        if !self.state.is_filled() {
            return Err(NotReady::Filling(self.options.prefix.clone()));
        }
        self.inner.readiness()
    }
}
