//! The watch cache: a decorator that serves reads and watches of one resource from memory.
//!
//! - State: a persistent ordered map, so that a list, and every further page of it, is a snapshot taken in one step;
//!   nothing is locked while it streams.
//! - History: one bounded log of events, shared by all watchers. A watcher is a cursor into it: it costs no buffer,
//!   and only one that falls off the log's old end is told to list again.
//! - Watchers of one key, one namespace or one value of an indexed field have a lane of their own, and are woken
//!   only by what concerns them.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/cacher`.

mod bell;
mod budget;
mod feed;
mod lane;
mod lister;
mod state;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::AbortHandle;

use crate::api::Preconditions;

use super::Revision;
use super::entry::StoredObject;
use super::error::StorageError;
use super::interface::{
    Interface, ListPage, ListRequest, NewValue, TryUpdate, Updated, ValidateDeletion, WatchRequest,
    WatchStream,
};

pub use budget::CacheBudget;
use state::State;

/// How long a read waits for the cache to reach a revision before it fails (as Kubernetes does).
const FRESH_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a consistent read waits for the cache before it goes to the store.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(250);

/// How a read without a revision makes sure that it misses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Every write of the store goes through this process: a read waits for the writes made here.
    OwnWrites,
    /// Others write too: a read asks the store for its newest revision, waits until the cache has come to it,
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
    /// Which selectable fields have lanes of their own.
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
    state: Arc<State>,
    options: CacherOptions,
    /// The newest revision anybody was told of through this cache: by a write, or by a watch of the store itself.
    told: Arc<AtomicU64>,
    /// The newest revision a read has waited for in vain.
    late: AtomicU64,
    feed: AbortHandle,
}

impl Cacher {
    /// Puts a cache before a store, and begins to fill it. Must be called within a Tokio runtime.
    pub fn new(inner: Arc<dyn Interface>, options: CacherOptions) -> Arc<Self> {
        let state = Arc::new(State::new(&options));
        let feed =
            tokio::spawn(feed::run(inner.clone(), state.clone(), options.prefix.clone())).abort_handle();
        Arc::new(Self { inner, state, options, told: Arc::default(), late: AtomicU64::new(0), feed })
    }

    /// Notes a write made through this cache.
    fn wrote(&self, object: &StoredObject) {
        self.told.fetch_max(object.revision, Ordering::AcqRel);
    }

    /// Waits until the cache has everything a consistent read must see; `false` sends the read to the store.
    async fn catch_up(&self) -> bool {
        match self.options.consistency {
            Consistency::Store => self.catch_up_with_store().await,
            Consistency::OwnWrites => {
                self.state.is_filled()
                    && self.state.reach(self.told.load(Ordering::Acquire), FRESH_TIMEOUT).await.is_ok()
            }
        }
    }

    async fn catch_up_with_store(&self) -> bool {
        if !self.state.is_filled() {
            return false;
        }
        // What fails here fails again below, in the right words.
        let Ok(newest) = self.inner.current_revision().await else { return false };
        if self.state.reached() >= newest {
            return true;
        }
        // A store that cannot tell how far its watches are lets nobody wait for it twice.
        if self.state.reached() < self.late.load(Ordering::Acquire)
            || self.inner.request_progress().await.is_err()
        {
            return false;
        }
        let in_time = self.state.reach(newest, CATCH_UP_TIMEOUT).await.is_ok();
        if !in_time {
            self.late.fetch_max(newest, Ordering::AcqRel);
        }
        in_time
    }

    /// The object the cache has under a key, as a hint for writes.
    fn hint(&self, key: &str) -> Option<StoredObject> {
        self.state.is_filled().then(|| self.state.snapshot().objects.get(key).cloned()).flatten()
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
        self.wrote(&created);
        Ok(created)
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        let cached = match not_older_than {
            None => self.catch_up().await,
            Some(revision) if self.state.is_filled() => {
                self.state.reach(revision, FRESH_TIMEOUT).await?;
                true
            }
            Some(_) => false,
        };
        if cached {
            return Ok(self.state.snapshot().objects.get(key).cloned());
        }
        self.inner.get(key, not_older_than).await
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        match self.snapshot_for(prefix, request).await? {
            Some(source) => self.state.page(source, prefix, request),
            None => self.inner.list(prefix, request).await,
        }
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
        self.wrote(&updated.object);
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
        self.wrote(&deleted);
        Ok(deleted)
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        if prefix == self.options.prefix && self.catch_up().await {
            return Ok(self.state.snapshot().objects.len() as u64);
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
