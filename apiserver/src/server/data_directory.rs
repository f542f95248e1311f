//! The data directory of the server, used by one server at a time.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use registry_core::directory_lock::{DirectoryLock, LockError};
use registry_core::durable_file;

/// The mode bits that allow the group and others to replace files, and the sticky bit, which restricts that
/// to their own.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The lock of a data directory; released when dropped.
#[derive(Debug)]
pub struct DataDirectory {
    _lock: DirectoryLock,
}

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another process uses it. Retryable, once that process has ended.
    #[error(
        "the data directory {} is in use by another process (id {holder}): stop that process, or use another directory \
         (--data-dir)",
        path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The other process's id, if known.
        holder: String,
    },
    /// The operating system refuses access. Retryable, once the cause is resolved.
    #[error("the data directory {} cannot be used: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

// === impl DataDirectory ===

impl DataDirectory {
    /// Creates the directory if it does not exist, accessible to its owner only, and locks it. Logs a warning
    /// if other users can replace its contents.
    pub fn acquire(path: &Path) -> Result<Self, DataDirectoryError> {
        let io = |source| DataDirectoryError::Io { path: path.to_owned(), source };
        durable_file::create_directory(path).map_err(io)?;
        let mode = path.metadata().map_err(io)?.permissions().mode();
        if mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0 {
            tracing::warn!(
                directory = %path.display(), mode = %format!("{:o}", mode & 0o7777),
                "other users can replace the files in the data directory: chmod go-w it"
            );
        }
        match DirectoryLock::acquire(path) {
            Ok(lock) => Ok(Self { _lock: lock }),
            Err(LockError::Held { holder }) => {
                Err(DataDirectoryError::Locked { path: path.to_owned(), holder })
            }
            Err(LockError::Io(source)) => Err(io(source)),
        }
    }
}
