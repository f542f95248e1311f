//! The contract of a multi-version key-value engine: what etcd offers, as far as a store of API objects needs
//! it. [`etcd3`](super::etcd3) and [`embedded`](super::embedded) implement it; all semantics of objects are
//! above it, once, in [`versioned`](super::versioned).
//!
//! Kubernetes concept: etcd's [KV and Watch API](https://etcd.io/docs/v3.5/learning/api/).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::Revision;

/// An engine with one global, gapless history of revisions.
#[async_trait]
pub trait Mvcc: Send + Sync + 'static {
    /// One key, now (linearizable).
    async fn get(&self, key: &str) -> Result<Got, MvccError>;

    /// Keys in `[start, end)` in order, at `revision` (`None`: now, linearizable); at most `limit` (0: all).
    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError>;

    /// How many keys are in `[start, end)` now.
    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError>;

    /// Writes `value` if the key's newest revision is `expected` (0: the key is absent), in one step.
    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError>;

    /// Removes the key if its newest revision is `expected`, in one step.
    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError>;

    /// Every change in `[start, end)` with a revision greater than `after`, in order; batches never split a
    /// revision. Empty batches are progress notifications.
    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError>;

    /// Asks for a progress notification on all watches.
    async fn request_progress(&self) -> Result<(), MvccError>;

    /// The newest revision.
    async fn current_revision(&self) -> Result<Revision, MvccError>;

    /// Forgets what was overwritten or deleted before `revision`; watches and ranges older than it then fail.
    async fn compact(&self, revision: Revision) -> Result<(), MvccError>;

    /// Whether the engine can serve; the text says what is wrong.
    async fn health(&self) -> Result<(), String>;
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The whole key.
    pub key: Arc<str>,
    /// The value, as it is at rest.
    pub value: Bytes,
    /// The revision that wrote it.
    pub mod_revision: Revision,
    /// The revision that created the key.
    pub create_revision: Revision,
}

/// The answer to a get.
#[derive(Clone, Debug)]
pub struct Got {
    /// The store's revision at the time of the read.
    pub revision: Revision,
    /// The key's value, if it is there.
    pub key_value: Option<KeyValue>,
}

/// What a range asks for.
#[derive(Clone, Copy, Debug)]
pub struct RangeRequest<'a> {
    /// The first key.
    pub start: &'a str,
    /// The first key that no longer belongs.
    pub end: &'a str,
    /// At most so many keys; 0 is no limit.
    pub limit: u64,
    /// The state at this revision; `None` is now.
    pub revision: Option<Revision>,
}

/// The answer to a range.
#[derive(Clone, Debug)]
pub struct Ranged {
    /// The store's revision at the time of the read (not the one asked for).
    pub revision: Revision,
    /// The keys, in order.
    pub key_values: Vec<KeyValue>,
    /// How many keys of the range there are in all, this page included.
    pub count: u64,
}

/// The answer to a conditional write.
#[derive(Clone, Debug)]
pub enum Committed {
    /// It was made, durably, at this revision.
    At(Revision),
    /// The condition did not hold; this is the state instead.
    ConditionFailed(Got),
}

/// Changes of one or more whole revisions, in order.
#[derive(Clone, Debug)]
pub struct ChangeBatch {
    /// Everything up to this revision has now been delivered.
    pub revision: Revision,
    /// The changes; none for a progress notification.
    pub changes: Vec<Change>,
}

/// One key's change.
#[derive(Clone, Debug)]
pub struct Change {
    /// The key.
    pub key: Arc<str>,
    /// The revision of the change.
    pub revision: Revision,
    /// The new value; `None` for a deletion.
    pub value: Option<Bytes>,
    /// The value before, if there was one.
    pub previous: Option<Bytes>,
}

/// A running watch; ends after its first error. Dropping it ends the watch.
pub type ChangeStream = BoxStream<'static, Result<ChangeBatch, MvccError>>;

/// What can go wrong in an engine.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MvccError {
    /// The revision was compacted away. Start again from the newest.
    #[error("revision {requested} has been compacted, the oldest kept is {oldest}")]
    Compacted {
        /// The revision asked for.
        requested: Revision,
        /// The oldest revision that can still be read.
        oldest: Revision,
    },
    /// The revision has not happened yet. Retryable.
    #[error("revision {requested} is in the future, the newest is {current}")]
    FutureRevision {
        /// The revision asked for.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The value is larger than the engine takes. Not retryable.
    #[error("request is too large: {0}")]
    TooLarge(String),
    /// The engine cannot be reached, or refuses work. Retryable; whether a write took place is unknown.
    #[error("{0}")]
    Unavailable(Arc<str>),
    /// More is queued than the engine takes. Retryable; nothing was written.
    #[error("too many requests are queued")]
    Overloaded,
}

/// The end of the range of all keys with a prefix: the prefix with its last character's successor.
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
