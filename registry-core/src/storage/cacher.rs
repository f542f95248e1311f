//! The watch cache: a decorator that serves reads and watches of one resource from memory.
//!
//! - CacheState: a persistent ordered map, so that a list, and every further page of it, is a snapshot taken in one step;
//!   nothing is locked while it streams.
//! - History: one bounded log of events, shared by all watchers. A watcher is a cursor into it: it costs no buffer,
//!   and only one that falls off the log's old end is observed to list again.
//! - Watchers of one key, one namespace or one value of an indexed field have a channel of their own, and are woken
//!   only by what concerns them.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/cacher`.

mod budget;
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
use tokio::task::AbortHandle;

use crate::api::Preconditions;
use crate::metrics::{CacheMetrics, CacheSource};

use super::Revision;
use super::entry::StoredObject;
use super::error::StorageError;
use super::interface::{
    Interface, ListPage, ListRequest, NewValue, TryUpdate, Updated, ValidateDeletion, WatchRequest,
    WatchStream,
};

pub use budget::CacheBudget;
use state::CacheState;

/// How long a read waits for the cache to reach a revision before it fails (as Kubernetes does).
const FRESH_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a consistent read waits for the cache before it goes to the store.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(250);

/// How a read without a revision makes sure that it misses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Every write of the store goes through this process: a read of one object waits for the writes made here.
    OwnWrites,
    /// Others write too: every read asks the store for its newest revision, waits until the cache has come to it,
    /// and goes to the store when that takes too long.
    Store,
}

/// How a cache is set up.
#[derive(Clone, Debug)]
pub struct CacherOptions {
    /// The resource's key prefix, with a slash at its end.
    pub prefix: String,
    /// How reads are kept consistent.
    pub consistency: Consistency,
    /// Which selectable fields have channels of their own.
    pub indexes: &'static [&'static str],
    /// What all caches together may hold.
    pub budget: Arc<CacheBudget>,
    /// At most so many events are kept for watchers to resume from.
    pub history_events: usize,
    /// How often watchers that want bookmarks get one.
    pub bookmark_period: Duration,
}

/// A store of one resource behind a cache of it.
pub struct Cacher {
    inner: Arc<dyn Interface>,
    state: Arc<CacheState>,
    options: CacherOptions,
    /// The newest revision anybody was observed of past the cache: by a write, or by the store itself.
    observed: Arc<AtomicU64>,
    /// The newest revision a read has waited for in vain.
    stalled: AtomicU64,
    feed: AbortHandle,
    /// For watches that may move in here later.
    own: Weak<Self>,
}

impl Cacher {
    /// Puts a cache before a store, and begins to fill it. Must be called within a Tokio runtime.
    pub fn new(inner: Arc<dyn Interface>, options: CacherOptions) -> Arc<Self> {
        Self::with_metrics(inner, options, CacheMetrics::default())
    }

    /// The same, and counts what it does.
    pub fn with_metrics(
        inner: Arc<dyn Interface>,
        options: CacherOptions,
        metrics: CacheMetrics,
    ) -> Arc<Self> {
        let state = Arc::new(CacheState::new(&options, metrics));
        let feed =
            tokio::spawn(feed::run(inner.clone(), state.clone(), options.prefix.clone())).abort_handle();
        Arc::new_cyclic(|own| Self {
            inner,
            state,
            options,
            observed: Arc::default(),
            stalled: AtomicU64::new(0),
            feed,
            own: own.clone(),
        })
    }

    /// How the cache is, for metrics.
    pub fn source(&self) -> Weak<dyn CacheSource> {
        let state: Arc<dyn CacheSource> = self.state.clone();
        Arc::downgrade(&state)
    }

    /// Notes what somebody is observed of.
    fn tell(&self, revision: Revision) {
        self.observed.fetch_max(revision, Ordering::AcqRel);
    }

    /// Waits until the cache has come to the newest revision of the whole store, which is what a list shows: clients
    /// go on from it with other resources too. `false` sends the read to the store.
    ///
    /// # Errors
    /// The store does not tell its newest revision: it would not answer the read itself either.
    async fn catch_up(&self) -> Result<bool, StorageError> {
        if !self.state.is_filled() || !self.state.holds_objects() {
            return Ok(false);
        }
        let newest = self.inner.current_revision().await?;
        let caught_up = self.catch_up_to(newest).await;
        self.state.metrics.read_consistently(caught_up);
        Ok(caught_up)
    }

    /// The same for a read of objects without their revision: it must see every write to this resource.
    async fn catch_up_with_writes(&self) -> Result<bool, StorageError> {
        match self.options.consistency {
            Consistency::Store => self.catch_up().await,
            Consistency::OwnWrites => {
                let caught_up = self.catch_up_with_told().await;
                self.state.metrics.read_consistently(caught_up);
                Ok(caught_up)
            }
        }
    }

    /// The same for a read of whatever is at hand: it must not be behind what anybody was observed of.
    async fn catch_up_with_told(&self) -> bool {
        self.catch_up_to(self.observed.load(Ordering::Acquire)).await
    }

    /// Waits until the cache has reached a revision that a client named, and everything anybody was observed of. `false`
    /// sends the read to the store: the store has that revision, but the cache does not get there in time.
    ///
    /// # Errors
    /// [`StorageError::FutureRevision`]: nobody has reached the revision in time.
    async fn catch_up_with_named(&self, revision: Revision) -> Result<bool, StorageError> {
        if self.state.reached() < revision {
            // A store that does not report its progress leaves the cache behind while nothing is written.
            let exists = self.inner.current_revision().await.is_ok_and(|newest| newest >= revision);
            if exists && !self.catch_up_to(revision).await {
                return Ok(false);
            }
            self.state.reach(revision, FRESH_TIMEOUT).await?;
        }
        Ok(self.catch_up_with_told().await)
    }

    async fn catch_up_to(&self, revision: Revision) -> bool {
        let reached = self.state.reached();
        if reached == 0 {
            return false;
        }
        if reached >= revision {
            return true;
        }
        // A store that cannot tell how far its watches are lets nobody wait for it twice.
        if reached < self.stalled.load(Ordering::Acquire) || self.inner.request_progress().await.is_err() {
            return false;
        }
        let in_time = self.state.reach(revision, CATCH_UP_TIMEOUT).await.is_ok();
        if !in_time {
            self.stalled.fetch_max(revision, Ordering::AcqRel);
        }
        in_time
    }

    /// The object the cache has under a key, as a hint for writes.
    fn hint(&self, key: &str) -> Option<StoredObject> {
        self.state.snapshot()?.objects.get(key).cloned()
    }
}

impl Drop for Cacher {
    fn drop(&mut self) {
        self.feed.abort();
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
        self.tell(created.revision);
        Ok(created)
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        let cached = match not_older_than {
            None => self.catch_up_with_writes().await?,
            Some(revision) if self.state.is_filled() && self.state.holds_objects() => {
                self.catch_up_with_named(revision).await?
            }
            Some(_) => false,
        };
        if let Some(snapshot) = self.state.snapshot().filter(|_| cached) {
            return Ok(snapshot.objects.get(key).cloned());
        }
        let got = self.inner.get(key, not_older_than).await?;
        self.tell(got.as_ref().map_or(0, |object| object.revision));
        Ok(got)
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        if let Some(source) = self.snapshot_for(prefix, request).await? {
            return self.state.page(source, prefix, request);
        }
        let page = self.inner.list(prefix, request).await?;
        self.tell(page.revision);
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
        self.tell(updated.object.revision);
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
        self.tell(deleted.revision);
        Ok(deleted)
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        if prefix == self.options.prefix
            && self.catch_up_with_writes().await?
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

    fn readiness(&self) -> Result<(), String> {
        if !self.state.is_filled() {
            return Err(format!("the watch cache of {} is being filled", self.options.prefix));
        }
        self.inner.readiness()
    }
}
