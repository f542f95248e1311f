//! A log that is made in an empty directory: by a restore, or of keys from elsewhere.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::super::directory::{HighWaterMark, has_log, is_occupied, lock};
use super::super::log::Commit;
use super::super::log::fjall::NewFjallLog;
use super::super::log_error::LogError;
use super::super::{EmbeddedOptions, OpenError, Revision};
use super::{MaintenanceError, io};
use crate::directory_lock::DirectoryLock;

/// Size at which records are committed, in bytes.
const COMMIT_BYTES: usize = 4 * 1024 * 1024;

/// A log without its name. Until [`publish`](Self::publish) has returned, and after a crash, the directory has no store.
pub(in super::super) struct UnpublishedLog {
    log: NewFjallLog,
    directory: PathBuf,
    pending: Commit,
    pending_bytes: usize,
    _lock: DirectoryLock,
}

/// Checks that there is nothing in a directory.
pub(in super::super) fn check_empty(directory: &Path) -> Result<(), MaintenanceError> {
    if is_occupied(directory).map_err(|error| io(directory, error))? {
        return Err(MaintenanceError::Occupied { directory: directory.to_owned() });
    }
    Ok(())
}

// === impl UnpublishedLog ===

impl UnpublishedLog {
    /// Begins a log. The remains of an earlier attempt are removed.
    pub(in super::super) fn create(directory: &Path) -> Result<Self, MaintenanceError> {
        check_empty(directory)?;
        let lock = lock(directory)?;
        let open_error = |error| OpenError::new(directory, error);
        // Another process may have made a store, and ended, before this process took the lock.
        if has_log(directory).map_err(open_error)? {
            return Err(MaintenanceError::Occupied { directory: directory.to_owned() });
        }
        let options = EmbeddedOptions::new(directory).disk();
        let log = NewFjallLog::create(directory, options).map_err(open_error)?;
        let (pending, pending_bytes) = (Commit::default(), 0);
        Ok(Self { log, directory: directory.to_owned(), pending, pending_bytes, _lock: lock })
    }

    /// Adds a record.
    pub(in super::super) fn add(&mut self, revision: Revision, bytes: Bytes) -> Result<(), MaintenanceError> {
        self.pending_bytes += bytes.len();
        self.pending.records.push((revision, bytes));
        if self.pending_bytes >= COMMIT_BYTES { self.commit() } else { Ok(()) }
    }

    /// Writes what is pending.
    pub(in super::super) fn commit(&mut self) -> Result<(), MaintenanceError> {
        self.pending_bytes = 0;
        let commit = std::mem::take(&mut self.pending);
        if commit.is_empty() {
            return Ok(());
        }
        self.log.commit(&commit).map_err(|error| self.failed(error))
    }

    /// Reads all records that were committed.
    pub(in super::super) fn scan(
        &self,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), MaintenanceError> {
        self.log.scan(visit).map_err(|error| self.failed(error))
    }

    /// Gives the log its name: from here on there is a store, whose newest revision is this one.
    pub(in super::super) fn publish(mut self, revision: Revision) -> Result<(), MaintenanceError> {
        self.commit()?;
        let open_error = |error| OpenError::new(&self.directory, error);
        self.log.publish().map_err(open_error)?;
        let mark = HighWaterMark::open(&self.directory).map_err(open_error)?;
        mark.write(revision);
        mark.sync();
        Ok(())
    }

    fn failed(&self, error: LogError) -> MaintenanceError {
        OpenError::new(&self.directory, error).into()
    }
}
