//! Exclusive lock of a directory, held by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file that is locked. It contains the process id of the last process that locked it.
pub const LOCK_FILE: &str = "LOCK";

/// An exclusive lock of a directory; released when dropped and when the process ends.
#[derive(Debug)]
pub struct DirectoryLock {
    /// `None` for a reader of a directory that was never locked.
    _file: Option<File>,
}

/// A directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has locked the directory. Retryable, once that process has ended.
    #[error("it is in use by another process (id {holder})")]
    Held {
        /// The other process's id, or `unknown`.
        holder: String,
    },
    /// The operating system refuses. Retryable, once the cause is gone.
    #[error(transparent)]
    Io(#[from] io::Error),
}

// === impl DirectoryLock ===

impl DirectoryLock {
    /// Locks an existing directory.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path)?;
        lock(&mut file, File::try_lock)?;
        // Only for the message of `LockError::Held`.
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: Some(file) })
    }

    /// Locks a directory against writing processes. Changes nothing on disk.
    pub fn acquire_to_read(directory: &Path) -> Result<Self, LockError> {
        let mut file = match File::open(directory.join(LOCK_FILE)) {
            Ok(file) => file,
            // Without the file no process holds a lock on it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self { _file: None }),
            Err(error) => return Err(error.into()),
        };
        lock(&mut file, File::try_lock_shared)?;
        Ok(Self { _file: Some(file) })
    }
}

fn lock(file: &mut File, try_lock: fn(&File) -> Result<(), TryLockError>) -> Result<(), LockError> {
    match try_lock(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // If the file cannot be read, the process id is reported as unknown.
            let _ = file.read_to_string(&mut holder);
            let id = holder.trim().parse::<u32>();
            Err(LockError::Held { holder: id.map_or("unknown".to_owned(), |id| id.to_string()) })
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_or_many_readers_have_a_directory() {
        let home = tempfile::tempdir().unwrap();
        drop(DirectoryLock::acquire_to_read(home.path()).unwrap());
        assert!(!home.path().join(LOCK_FILE).exists());
        let writer = DirectoryLock::acquire(home.path()).unwrap();
        let own_id = std::process::id().to_string();
        for outcome in [DirectoryLock::acquire(home.path()), DirectoryLock::acquire_to_read(home.path())] {
            let Err(LockError::Held { holder }) = outcome else { panic!("{outcome:?}") };
            assert_eq!(holder, own_id);
        }
        drop(writer);
        let readers = [(); 2].map(|()| DirectoryLock::acquire_to_read(home.path()).unwrap());
        assert!(matches!(DirectoryLock::acquire(home.path()), Err(LockError::Held { .. })));
        drop(readers);
        DirectoryLock::acquire(home.path()).unwrap();
    }
}
