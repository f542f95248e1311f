//! A log that is made in an empty directory: by a restore, or of keys from elsewhere.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::super::directory::{HighWaterMark, has_log, is_occupied, lock};
use super::super::log::Commit;
use super::super::log::fjall::NewFjallLog;
use super::super::log_error::LogError;
use super::super::record::META_REVISION;
use super::super::{EmbeddedOptions, OpenError, Revision};
use super::{MaintenanceError, io};
use crate::directory_lock::DirectoryLock;

/// Size at which records are committed, in bytes.
const COMMIT_BYTES: usize = 4 * 1024 * 1024;
/// Number of removals at which they are committed.
const COMMIT_REMOVALS: usize = 10_000;

/// A log without its name. Until [`publish`](Self::publish) has returned, and after a crash, the directory has no store.
pub(in super::super) struct UnpublishedLog {
    log: NewFjallLog,
    directory: PathBuf,
    pending: Commit,
    pending_bytes: usize,
    /// The least revision of a pending record.
    pending_least: Revision,
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
        Ok(Self {
            log,
            directory: directory.to_owned(),
            pending: Commit::default(),
            pending_bytes: 0,
            pending_least: Revision::MAX,
            _lock: lock,
        })
    }

    /// Adds a record.
    pub(in super::super) fn add(&mut self, revision: Revision, bytes: Bytes) -> Result<(), MaintenanceError> {
        self.pending_bytes += bytes.len();
        if revision != META_REVISION {
            self.pending_least = self.pending_least.min(revision);
        }
        self.pending.records.push((revision, bytes));
        if self.pending_bytes >= COMMIT_BYTES { self.commit() } else { Ok(()) }
    }

    /// Removes a record that was added.
    pub(in super::super) fn remove(&mut self, revision: Revision) -> Result<(), MaintenanceError> {
        let records = &mut self.pending.records;
        let pending = if revision < self.pending_least {
            None
        } else {
            records.iter().rposition(|(pending, _)| *pending == revision)
        };
        match pending {
            Some(at) => self.pending_bytes -= records.swap_remove(at).1.len(),
            None => self.pending.removals.push(revision),
        }
        if self.pending.removals.len() >= COMMIT_REMOVALS { self.commit() } else { Ok(()) }
    }

    /// Writes what is pending.
    pub(in super::super) fn commit(&mut self) -> Result<(), MaintenanceError> {
        self.pending_bytes = 0;
        self.pending_least = Revision::MAX;
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
