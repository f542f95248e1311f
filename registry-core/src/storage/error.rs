//! What can go wrong in a store. The registry turns these into `Status` in one place.

use std::sync::Arc;

use crate::api::StatusError;

use super::Revision;

/// A failed read or write.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// No object under the key. Not retryable.
    #[error("key not found: {key}")]
    NotFound {
        /// The key.
        key: String,
    },
    /// An object is under the key already. Not retryable.
    #[error("key exists: {key}")]
    Exists {
        /// The key.
        key: String,
    },
    /// A precondition does not hold of the stored object. Read again, then decide.
    #[error("{message}")]
    Precondition {
        /// Which one, in the words for the client.
        message: String,
    },
    /// The object changed while it was being written, more often than the store retries. Retryable.
    #[error("the object was modified concurrently")]
    Conflict,
    /// The caller's own closure refused. Not retryable here.
    #[error(transparent)]
    Rejected(StatusError),
    /// The revision asked for has been compacted away. List again.
    #[error("the requested revision {requested} has been compacted, the oldest kept is {oldest}")]
    Compacted {
        /// The revision asked for.
        requested: Revision,
        /// The oldest revision still kept.
        oldest: Revision,
        /// For a paged list: a token to go on from the same place in the newest state.
        fresh_continue: Option<String>,
    },
    /// The revision asked for has not happened yet. Retryable, after a second.
    #[error("Too large resource version: {requested}, current: {current}")]
    FutureRevision {
        /// The revision asked for.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// A continue token that was not made here, or an option that cannot be. Not retryable.
    #[error("{0}")]
    InvalidRequest(String),
    /// The value under the key is no object of this resource, or does not decrypt. Not retryable.
    #[error("the stored value of {key} cannot be read: {reason}")]
    Corrupt {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The value is larger than the backend takes. Not retryable.
    #[error("the value is larger than the store takes: {message}")]
    TooLarge {
        /// The backend's words.
        message: String,
    },
    /// The backend cannot be reached or refuses work (lost etcd, full disk). Retryable; whether a write took
    /// place is unknown.
    #[error("storage is unavailable: {reason}")]
    Unavailable {
        /// The backend's words.
        reason: Arc<str>,
    },
    /// The store has more work queued than it takes. Retryable, after the given seconds.
    #[error("storage is overloaded, retry after {retry_after_seconds} s")]
    Overloaded {
        /// When to come back.
        retry_after_seconds: u32,
    },
}

/// Why a running watch ended. After any of these the stream is over.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WatchError {
    /// The history the watch stands at has been compacted, or the watcher fell too far behind: 410, list again.
    #[error("too old resource version: {requested} ({oldest})")]
    Compacted {
        /// The revision asked for.
        requested: Revision,
        /// The oldest revision still kept.
        oldest: Revision,
    },
    /// The backend was lost. Watch again from the last revision seen.
    #[error("the watch was interrupted: {0}")]
    Interrupted(Arc<str>),
    /// A value on the way cannot be read.
    #[error("the stored value of {key} cannot be read: {reason}")]
    Corrupt {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StorageError {
    /// The backend cannot be reached or refuses work.
    pub fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable { reason: reason.to_string().into() }
    }
}

impl From<StatusError> for StorageError {
    fn from(refusal: StatusError) -> Self {
        Self::Rejected(refusal)
    }
}
