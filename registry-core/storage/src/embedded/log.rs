//! The interface to the storage below the engine: records under revisions, committed in atomic, durable batches.
//! Small, so that the storage can be replaced.

pub(super) mod backed;
pub(super) mod fjall;
pub(super) mod memory;

use std::collections::HashMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Revision;
use super::log_error::LogError;
use super::record::{EMPTY_REVISION, META_REVISION, Record};

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
    /// Records to add, under unused revisions (only [`META_REVISION`] is overwritten).
    pub(super) records: Vec<(Revision, Bytes)>,
    /// Revisions whose records are removed.
    pub(super) removals: Vec<Revision>,
    /// The changes of keys that the records are about, in their order, for logs that keep values rather than records.
    pub(super) changes: Vec<KeyChange>,
}

// === impl Commit ===

impl Commit {
    /// Returns the commit that turns an empty log into an empty store.
    pub(super) fn empty_store() -> Self {
        Self { records: vec![(META_REVISION, Record::meta(EMPTY_REVISION).encode())], ..Self::default() }
    }

    /// Whether there are no changes.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.removals.is_empty()
    }
}
