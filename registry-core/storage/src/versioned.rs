//! The semantics of API objects over any multi-version engine: conditional writes with retries, paging at one
//! revision, selection, and watches with selector transitions.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/etcd3`, without the parts specific to etcd.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::metrics::EngineMetrics;
use registry_meta::Preconditions;

use super::Revision;
use super::entry::{Attributes, AttributesOf, StoredObject};
use super::error::{StorageError, WatchError};
use super::interface::{
    ChangedStream, Interface, ListPage, ListRequest, NewValue, TryUpdate, Updated, ValidateDeletion,
    WatchRequest, WatchStream,
};
use super::mvcc::{Committed, Mvcc, MvccError, NotReady, prefix_end};
use super::transform::Transformer;
use page_size::PageSize;
use recent_writes::RecentWrites;

mod list;
pub(crate) mod metadata;
mod page_size;
mod recent_writes;
mod state;
mod update;
mod watch;

/// The objects of one resource in an engine.
///
/// Attributes are extracted only where they are needed: entries from watches, from lists with a selector and from
/// writes carry them. Entries from `get` and from lists without a selector have [`Attributes::default`]; a caller
/// that needs all attributes (a cache) watches with initial events.
#[derive(Clone)]
pub struct VersionedStore {
    engine: Arc<dyn Mvcc>,
    transformer: Arc<dyn Transformer>,
    attributes: Arc<dyn AttributesOf>,
    metrics: EngineMetrics,
    page_size: Arc<PageSize>,
    recent_writes: Arc<RecentWrites>,
    /// Whether a list reports each value that cannot be read.
    reports_corrupt_objects: bool,
}

/// The keys of an operation: a prefix with a trailing `/` is a range, anything else an exact key.
#[derive(Clone, Debug)]
struct KeyRange {
    start: String,
    end: String,
    exact: bool,
}

// === impl KeyRange ===

impl KeyRange {
    fn with_prefix(prefix: &str) -> Self {
        if prefix.ends_with('/') {
            Self { start: prefix.to_owned(), end: prefix_end(prefix), exact: false }
        } else {
            Self { start: prefix.to_owned(), end: successor(prefix), exact: true }
        }
    }
}

/// Returns the smallest key greater than this key.
fn successor(key: &str) -> String {
    format!("{key}\0")
}

// === impl VersionedStore ===

impl VersionedStore {
    /// Creates a store over `engine`. `transformer` transforms its values; `attributes` extracts the attributes for
    /// selection.
    pub fn new(
        engine: Arc<dyn Mvcc>,
        transformer: Arc<dyn Transformer>,
        attributes: Arc<dyn AttributesOf>,
    ) -> Self {
        Self {
            engine,
            transformer,
            attributes,
            metrics: EngineMetrics::default(),
            page_size: Arc::default(),
            recent_writes: Arc::default(),
            reports_corrupt_objects: false,
        }
    }

    /// If `reports`, a list with values that cannot be read fails with [`StorageError::CorruptList`], which names them;
    /// otherwise it ends at the first.
    #[must_use]
    pub fn reporting_corrupt_objects(self, reports: bool) -> Self {
        Self { reports_corrupt_objects: reports, ..self }
    }

    /// Counts the objects of lists. Requests to the engine are counted by the [engine](super::measured) itself.
    pub fn with_metrics(self, metrics: EngineMetrics) -> Self {
        Self { metrics, ..self }
    }

    /// Reads the newest state of one key.
    async fn read(&self, key: &str) -> Result<state::Seen, StorageError> {
        let got = self.engine.get(key).await?;
        self.seen(key, got).await
    }
}

#[async_trait]
impl Interface for VersionedStore {
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError> {
        let at_rest = self.at_rest(key, value.bytes.clone()).await?;
        self.recent_writes.note(&value);
        match self.engine.put_if(key, 0, at_rest, whole_seconds(ttl)).await? {
            Committed::At(revision) => {
                state::entry(key.into(), value.shown(), revision, value.attributes.clone())
            }
            Committed::ConditionFailed(_) => Err(StorageError::Exists { key: key.to_owned() }),
        }
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        let got = self.engine.get(key).await?;
        not_in_the_future(not_older_than, got.revision)?;
        let Some(key_value) = got.key_value else { return Ok(None) };
        let revision = key_value.mod_revision;
        let value = self.plain(&key_value.key, key_value.value, revision).await?;
        state::entry(key_value.key, &value, revision, Attributes::default()).map(Some)
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        list::list(self, prefix, request).await
    }

    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        watch::watch(self, prefix, request).await
    }

    async fn changes(
        &self,
        prefix: &str,
        after: Revision,
        with_previous: bool,
    ) -> Result<ChangedStream, StorageError> {
        self.recent_writes.follow();
        watch::changes(self, prefix, after, with_previous).await
    }

    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        update::guaranteed_update(self, key, preconditions, update, hint).await
    }

    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        update::delete(self, key, preconditions, validate, hint).await
    }

    async fn delete_corrupt(&self, key: &str) -> Result<Revision, StorageError> {
        update::delete_corrupt(self, key).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        let range = KeyRange::with_prefix(prefix);
        Ok(self.engine.count(&range.start, &range.end).await?)
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        Ok(self.engine.current_revision().await?)
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        self.engine.key_revision(key)
    }

    async fn transformation_changed(&self, from: Option<u64>) -> u64 {
        self.transformer.changed(from).await
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        Ok(self.engine.request_progress().await?)
    }

    /// Always ready: this store has no state to initialize.
    fn readiness(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

/// Rounds a time to live up to whole seconds, at least 1 s.
fn whole_seconds(ttl: Option<Duration>) -> Option<Duration> {
    let ttl = ttl.filter(|ttl| !ttl.is_zero())?;
    let started = u64::from(ttl.subsec_nanos() > 0);
    Some(Duration::from_secs(ttl.as_secs().saturating_add(started)))
}

/// Fails if the wanted revision is in the future.
fn not_in_the_future(wanted: Option<Revision>, current: Revision) -> Result<(), StorageError> {
    match wanted {
        Some(requested) if requested > current => Err(StorageError::FutureRevision { requested, current }),
        _ => Ok(()),
    }
}

// === errors ===

impl From<MvccError> for StorageError {
    fn from(error: MvccError) -> Self {
        match error {
            MvccError::Compacted { requested, oldest } => {
                Self::Compacted { requested, oldest, fresh_continue: None }
            }
            MvccError::FutureRevision { requested, current } => Self::FutureRevision { requested, current },
            MvccError::TooLarge(message) => Self::TooLarge { message },
            MvccError::Unavailable(reason) => Self::Unavailable { reason },
            MvccError::Refused(reason) => Self::Refused { reason },
            MvccError::Overloaded => Self::Overloaded { retry_after_seconds: 1 },
        }
    }
}

impl From<MvccError> for WatchError {
    fn from(error: MvccError) -> Self {
        match error {
            MvccError::Compacted { requested, oldest } => Self::Compacted { requested, oldest },
            other => Self::Interrupted(other.to_string().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_rounded_up_to_whole_seconds() {
        assert_eq!(whole_seconds(None), None);
        assert_eq!(whole_seconds(Some(Duration::ZERO)), None);
        assert_eq!(whole_seconds(Some(Duration::from_millis(1))), Some(Duration::from_secs(1)));
        assert_eq!(whole_seconds(Some(Duration::from_secs(2))), Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_trailing_slash_makes_a_range() {
        let range = KeyRange::with_prefix("/r/pods/");
        assert_eq!((range.start.as_str(), range.end.as_str(), range.exact), ("/r/pods/", "/r/pods0", false));
        let key = KeyRange::with_prefix("/r/pods/a");
        assert_eq!((key.start.as_str(), key.end.as_str(), key.exact), ("/r/pods/a", "/r/pods/a\0", true));
    }
}
