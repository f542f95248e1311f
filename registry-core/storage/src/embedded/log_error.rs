//! Failures of the log and of its files.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::Damage;

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
    #[error("{path} cannot be written ({source}){}", remedy(source))]
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
