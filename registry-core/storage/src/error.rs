//! Errors of a store. The registry maps these to `Status` in a single table.

use std::sync::Arc;

use registry_meta::StatusError;

use super::Revision;
use super::transform::TransformError;

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
    #[error("Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}")]
    Precondition {
        /// The field that differs.
        field: PreconditionField,
        /// Its value in the precondition.
        wanted: String,
        /// Its value in the stored object; empty if there is none.
        found: String,
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
    #[error(transparent)]
    InvalidRequest(InvalidRequest),
    /// A value cannot be read. Not retryable.
    #[error(transparent)]
    Corrupt(CorruptObject),
    /// Values of a list cannot be read, and the store reports each of them. Not retryable.
    #[error("{} stored values cannot be read", .0.objects.len())]
    CorruptList(CorruptObjects),
    /// The value can be read, but only one that cannot be read is to be deleted. Not retryable.
    #[error("the stored value can be read")]
    NotCorrupt,
    /// The value cannot be encrypted, and was not written. Retryable.
    #[error("the value of {key} cannot be encrypted: {reason}")]
    NotEncrypted {
        /// The key.
        key: String,
        /// The reason.
        reason: TransformError,
    },
    /// The value exceeds the backend's size limit. Not retryable.
    #[error("the value is larger than the store takes: {message}")]
    TooLarge {
        /// The backend's message.
        message: String,
    },
    /// The backend is unreachable or fails (etcd lost, disk full). Retryable; it is unknown whether a write took
    /// place.
    #[error("storage is unavailable: {reason}")]
    Unavailable {
        /// The backend's message.
        reason: Arc<str>,
    },
    /// The backend refuses the request until an operator acts (etcd out of space, missing permission). Nothing was
    /// written.
    #[error("{reason}")]
    Refused {
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
    #[error(transparent)]
    Corrupt(CorruptObject),
}

/// A stored value that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the stored value of {key} cannot be read: {reason}")]
pub struct CorruptObject {
    /// The key.
    pub key: String,
    /// The revision of the value.
    pub revision: Revision,
    /// The reason.
    pub reason: Unreadable,
}

/// The values of a list that cannot be read.
#[derive(Clone, Debug, Default)]
pub struct CorruptObjects {
    /// The values, in the order of their keys.
    pub objects: Vec<CorruptObject>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A field that a precondition names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionField {
    /// `metadata.uid`.
    Uid,
    /// `metadata.resourceVersion`.
    ResourceVersion,
}

/// The reason that a list cannot be answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvalidRequest {
    /// The continue token is none of this list.
    #[error("invalid continue token: continue key is not valid: {0}")]
    ContinueToken(String),
    /// A resource version beside a continue token.
    #[error("specifying resource version is not allowed when using continue")]
    RevisionWithToken,
    /// The next page begins outside of the list, so that there is no token for it.
    #[error("unable to encode next field: the key and key prefix do not match {prefix} {start}")]
    OutsidePrefix {
        /// The prefix of the keys of the list.
        prefix: String,
        /// The first key of the page.
        start: String,
    },
}

/// The error that a value was found unreadable with.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// The reason that a stored value cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be decrypted.
    #[error(transparent)]
    Encrypted(TransformError),
    /// It is not an object of the resource.
    #[error(transparent)]
    Invalid(Cause),
    /// It is not what begins as an object with metadata.
    #[error(transparent)]
    Metadata(Cause),
    /// It cannot be converted between the stored version and another one.
    #[error(transparent)]
    Conversion(Cause),
}

impl std::fmt::Display for PreconditionField {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Uid => "UID",
            Self::ResourceVersion => "ResourceVersion",
        })
    }
}

impl StorageError {
    /// Creates the error for an unreachable or failing backend.
    pub fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable { reason: reason.to_string().into() }
    }
}

impl From<StatusError> for StorageError {
    fn from(refusal: StatusError) -> Self {
        Self::Rejected(refusal)
    }
}
