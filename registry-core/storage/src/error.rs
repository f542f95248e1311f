//! Errors of a store. The registry maps these to `Status` in a single table.

use std::sync::Arc;

use registry_meta::StatusError;

use super::Revision;

/// A failed read or write.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// The key does not exist. Not retryable.
    #[error("key not found: {key}")]
    NotFound {
        /// The key.
        key: String,
    },
    /// The key exists already. Not retryable.
    #[error("key exists: {key}")]
    Exists {
        /// The key.
        key: String,
    },
    /// The stored object does not meet a precondition. Read it again before retrying.
    #[error("{message}")]
    Precondition {
        /// Describes the precondition, for the client.
        message: String,
    },
    /// The object was modified concurrently more often than the store retries. Retryable.
    #[error("the object was modified concurrently")]
    Conflict,
    /// The caller's closure rejected the operation. Not retryable here.
    #[error(transparent)]
    Rejected(StatusError),
    /// The requested revision has been compacted. List again.
    #[error("the requested revision {requested} has been compacted, the oldest kept is {oldest}")]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest revision still kept.
        oldest: Revision,
        /// For a paged list: a token that continues at the same key in the newest state.
        fresh_continue: Option<String>,
    },
    /// The requested revision is in the future. Retryable, after a second.
    #[error("Too large resource version: {requested}, current: {current}")]
    FutureRevision {
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// An invalid continue token or an invalid option. Not retryable.
    #[error("{0}")]
    InvalidRequest(String),
    /// The value under the key is not an object of this resource, or cannot be decrypted. Not retryable.
    #[error("the stored value of {key} cannot be read: {reason}")]
    Corrupt {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The value cannot be encrypted, and was not written. Retryable.
    #[error("the value of {key} cannot be encrypted: {reason}")]
    NotEncrypted {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The value exceeds the backend's size limit. Not retryable.
    #[error("the value is larger than the store takes: {message}")]
    TooLarge {
        /// The backend's message.
        message: String,
    },
    /// The backend is unreachable or refuses the request (etcd lost, disk full). Retryable; it is unknown whether a
    /// write took place.
    #[error("storage is unavailable: {reason}")]
    Unavailable {
        /// The backend's message.
        reason: Arc<str>,
    },
    /// The store's queue is full. Retryable, after the given number of seconds.
    #[error("storage is overloaded, retry after {retry_after_seconds} s")]
    Overloaded {
        /// Delay before a retry, in seconds.
        retry_after_seconds: u32,
    },
}

/// The reason that a running watch ended. The stream ends after any of these.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WatchError {
    /// The history at the watch's revision has been compacted, or the watcher fell too far behind: 410, list again.
    #[error("too old resource version: {requested} ({oldest})")]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest revision still kept.
        oldest: Revision,
    },
    /// The connection to the backend was lost. Watch again from the last revision seen.
    #[error("the watch was interrupted: {0}")]
    Interrupted(Arc<str>),
    /// A value in the watch cannot be read.
    #[error("the stored value of {key} cannot be read: {reason}")]
    Corrupt {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
}

impl StorageError {
    /// Creates the error for an unreachable backend or a refused request.
    pub fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable { reason: reason.to_string().into() }
    }
}

impl From<StatusError> for StorageError {
    fn from(refusal: StatusError) -> Self {
        Self::Rejected(refusal)
    }
}
