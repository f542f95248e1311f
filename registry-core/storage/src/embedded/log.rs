//! The interface to the storage below the engine: records under revisions, committed in atomic, durable batches.
//! Small, so that the storage can be replaced.

pub(super) mod backed;
pub(super) mod fjall;
pub(super) mod memory;

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Revision;
use super::record::Damage;

/// The newest values of all keys.
pub(super) type Content = HashMap<Arc<str>, Bytes>;

/// A durable map from revisions to records.
pub(super) trait Log: Send + Sync + 'static {
    /// Returns the record of a revision.
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError>;

    /// Visits the records of a range, in order, in a consistent state, until the visitor stops.
    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError>;

    /// Commits all changes durably, or fails. After a failure it is unknown which of them are stored: nothing may be
    /// committed before [`reopen`](Self::reopen) succeeds.
    fn commit(&self, commit: &Commit) -> Result<(), LogError>;

    /// Returns the newest acknowledged revision; 0 if there is none.
    fn acknowledged(&self) -> Result<Revision, LogError>;

    /// Records outside the log that a revision was acknowledged, so that a log that lost its end is detected. Cheap,
    /// and only as durable as the operating system's cache.
    fn note_acknowledged(&self, revision: Revision);

    /// Reopens the log after a failed commit; the records found then are the content. Changes nothing while the cause
    /// of the failure persists.
    fn reopen(&self) -> Result<(), LogError>;

    /// Returns the newest values, which others may have changed without a record. `None`: nobody else changes them.
    fn reload(&self) -> Result<Option<Content>, LogError> {
        Ok(None)
    }

    /// Returns the interval between calls of [`reload`](Self::reload).
    fn reload_interval(&self) -> Option<Duration> {
        None
    }

    /// Frees the space of removed records, if worthwhile: `live_bytes` is the size of the remaining records. May take
    /// seconds; called by one thread at a time.
    fn reclaim(&self, live_bytes: u64);

    /// Returns the size of the log on disk, in bytes.
    fn disk_bytes(&self) -> u64;

    /// Releases all resources; every later call fails.
    fn close(&self);
}

/// A change of a key: its new value, or `None` for a deletion.
#[derive(Debug)]
pub(super) struct KeyChange {
    pub(super) key: Arc<str>,
    pub(super) value: Option<Bytes>,
}

/// The changes of one commit.
#[derive(Debug, Default)]
pub(super) struct Commit {
    /// Records to add, under unused revisions (only [`META_REVISION`](super::record::META_REVISION) is overwritten).
    pub(super) records: Vec<(Revision, Bytes)>,
    /// Revisions whose records are removed.
    pub(super) removals: Vec<Revision>,
    /// The changes of keys that the records are about, in their order, for logs that keep values rather than records.
    pub(super) changes: Vec<KeyChange>,
}

/// A failed access to the log.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LogError {
    /// The disk or the operating system returned an error. Retryable, once its cause is removed.
    #[error(transparent)]
    Io(#[from] AccessError),
    /// The data on disk differs from what was written. Not retryable.
    #[error("{0}")]
    Damaged(String),
    /// Another version of the program has written the data. Not retryable.
    #[error("{0}")]
    OtherVersion(String),
    /// Another process holds the lock.
    #[error("the log is locked by another process")]
    Locked,
    /// The log was closed.
    #[error("the store is closed")]
    Closed,
}

/// An access to the disk, or to the store of an author, that failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum AccessError {
    /// A file or directory.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: Arc<io::Error> },
    /// The directory for temporary files.
    #[error("{path}: {source} (a working copy needs space there; TMPDIR names another directory)")]
    WorkingCopy { path: PathBuf, source: Arc<io::Error> },
    /// The disk takes no data.
    #[error("{path} takes no data ({source}){}", remedy(source))]
    Probe { path: PathBuf, source: Arc<io::Error> },
    /// A file of the log.
    #[error("{0}")]
    Log(#[source] Arc<io::Error>),
    /// The log can take no data.
    #[error("the disk is full: {0}")]
    Full(#[source] Arc<io::Error>),
    /// The log has refused everything since another failure.
    #[error("an earlier write or a background flush failed; the log takes no more")]
    Poisoned,
    /// The log cannot be opened again after a failure.
    #[error("the log could not be opened again: {0}")]
    Reopening(#[source] Box<Self>),
    /// The backend of an author.
    #[error("the backend failed: {0}")]
    Backend(#[source] Arc<dyn Error + Send + Sync>),
}

// === impl AccessError ===

impl AccessError {
    /// Returns the error of a file or directory.
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source: source.into() }
    }
}

/// Returns the remedy for a file system error, for the end of a message.
fn remedy(error: &io::Error) -> &'static str {
    /// `EMFILE` and `ENFILE`: the process or the machine has too many open files.
    const TOO_MANY_OPEN_FILES: [i32; 2] = [24, 23];
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ": free some space there"
        }
        _ if cfg!(unix) && error.raw_os_error().is_some_and(|code| TOO_MANY_OPEN_FILES.contains(&code)) => {
            ": raise the limit on open files (ulimit -n)"
        }
        _ => "",
    }
}

impl From<Damage> for LogError {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::NewerKind(_) | Damage::NewerFormat(_) => Self::OtherVersion(damage.to_string()),
            _ => Self::Damaged(damage.to_string()),
        }
    }
}

// === impl Commit ===

impl Commit {
    /// Whether there are no changes.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.removals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_remedy_that_helps() {
        let of = |code| remedy(&std::io::Error::from_raw_os_error(code));
        assert_eq!(of(28), ": free some space there");
        assert_eq!(of(24), ": raise the limit on open files (ulimit -n)");
        assert_eq!(of(13), "", "for a permission that is missing neither helps");
    }
}
