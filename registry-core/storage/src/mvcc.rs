//! The contract of a multi-version key-value engine: the part of etcd's API that a store of API objects needs.
//! [`etcd3`](super::etcd3) and [`embedded`](super::embedded) implement it; [`versioned`](super::versioned) implements
//! the semantics of objects on top of it.
//!
//! Kubernetes concept: etcd's [KV and Watch API](https://etcd.io/docs/v3.5/learning/api/).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::Revision;

/// An engine with a single, global, gapless history of revisions.
#[async_trait]
pub trait Mvcc: Send + Sync + 'static {
    /// Reads one key in its newest state (linearizable).
    async fn get(&self, key: &str) -> Result<Got, MvccError>;

    /// Reads the keys in `[start, end)` in order, at `revision` (`None`: newest, linearizable); at most `limit` (0:
    /// all).
    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError>;

    /// Returns the number of keys currently in `[start, end)`.
    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError>;

    /// Writes `value` atomically if the key's newest revision is `expected` (0: the key is absent).
    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError>;

    /// Removes the key atomically if its newest revision is `expected`.
    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError>;

    /// Returns every change in `[start, end)` with a revision greater than `after`, in order; batches never split a
    /// revision. Empty batches are progress notifications.
    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError>;

    /// Requests a progress notification on all watches.
    async fn request_progress(&self) -> Result<(), MvccError>;

    /// Returns the newest revision.
    async fn current_revision(&self) -> Result<Revision, MvccError>;

    /// Returns the revision of a key's newest state, 0 if the key is absent; `None` if the engine does not know it without
    /// I/O.
    fn key_revision(&self, key: &str) -> Option<Revision> {
        let _ = key;
        None
    }

    /// Discards the states overwritten or deleted before `revision`; older watches and ranges then fail.
    async fn compact(&self, revision: Revision) -> Result<(), MvccError>;

    /// Whether the engine can serve; the error describes the problem.
    async fn health(&self) -> Result<(), NotReady>;
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The full key.
    pub key: Arc<str>,
    /// The value as stored at rest.
    pub value: Bytes,
    /// The revision of the last write.
    pub mod_revision: Revision,
    /// The revision that created the key.
    pub create_revision: Revision,
}

/// The result of a get.
#[derive(Clone, Debug)]
pub struct Got {
    /// The store's revision at the time of the read.
    pub revision: Revision,
    /// The key and its value; `None` if the key is absent.
    pub key_value: Option<KeyValue>,
}

/// Parameters of a range read.
#[derive(Clone, Copy, Debug)]
pub struct RangeRequest<'a> {
    /// The first key, inclusive.
    pub start: &'a str,
    /// The last key, exclusive.
    pub end: &'a str,
    /// Maximum number of keys; 0 means no limit.
    pub limit: u64,
    /// The revision to read at; `None` is the newest.
    pub revision: Option<Revision>,
}

/// The result of a range read.
#[derive(Clone, Debug)]
pub struct Ranged {
    /// The store's revision at the time of the read (not the requested revision).
    pub revision: Revision,
    /// The keys, in order.
    pub key_values: Vec<KeyValue>,
    /// Total number of keys in the range, this page included.
    pub count: u64,
}

/// The result of a conditional write.
#[derive(Clone, Debug)]
pub enum Committed {
    /// The write succeeded, durably, at this revision.
    At(Revision),
    /// The condition did not hold; contains the current state.
    ConditionFailed(Got),
}

/// Changes of one or more whole revisions, in order.
#[derive(Clone, Debug)]
pub struct ChangeBatch {
    /// All changes up to this revision have been delivered.
    pub revision: Revision,
    /// The changes; empty for a progress notification.
    pub changes: Vec<Change>,
}

/// A change of one key.
#[derive(Clone, Debug)]
pub struct Change {
    /// The key.
    pub key: Arc<str>,
    /// The revision of the change.
    pub revision: Revision,
    /// The new value; `None` for a deletion.
    pub value: Option<Bytes>,
    /// The previous value, if there was one.
    pub previous: Option<Bytes>,
}

/// A running watch; ends after its first error. Dropping it ends the watch.
pub type ChangeStream = BoxStream<'static, Result<ChangeBatch, MvccError>>;

/// Error of a store that cannot serve now. Retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// The watch cache of the keys with this prefix has no first list yet.
    #[error("the watch cache of {0} is being filled")]
    Filling(String),
    /// The embedded store takes no writes, for this reason.
    #[error("{0}")]
    ReadOnly(Arc<str>),
    /// The embedded store's thread is not there.
    #[error("the embedded store's writer has ended")]
    NoWriter,
    /// etcd fails.
    #[error("error getting data from etcd: {0}")]
    Etcd(String),
    /// etcd does not answer.
    #[error("etcd did not answer the health check in time")]
    EtcdTimeout,
}

/// An error of an engine.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MvccError {
    /// The revision was compacted. Start again from the newest revision.
    #[error("revision {requested} has been compacted, the oldest kept is {oldest}")]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest revision that can still be read.
        oldest: Revision,
    },
    /// The revision is in the future. Retryable.
    #[error("revision {requested} is in the future, the newest is {current}")]
    FutureRevision {
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The value exceeds the engine's size limit. Not retryable.
    #[error("request is too large: {0}")]
    TooLarge(String),
    /// The engine is unreachable or fails. Retryable; it is unknown whether a write took place.
    #[error("{0}")]
    Unavailable(Arc<str>),
    /// The engine refuses the request until an operator acts (no space, missing permission). Nothing was written.
    #[error("{0}")]
    Refused(Arc<str>),
    /// The engine's queue is full. Retryable; nothing was written.
    #[error("too many requests are queued")]
    Overloaded,
}

/// Returns the end of the range of all keys with a prefix: the prefix with its last character replaced by the
/// successor.
///
/// `"/registry/pods/"` gives `"/registry/pods0"`.
pub fn prefix_end(prefix: &str) -> String {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return end.into_iter().collect();
        }
    }
    char::MAX.to_string()
}
