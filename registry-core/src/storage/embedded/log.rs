//! What the engine needs below it: records under revisions, committed in atomic, durable batches. Small, so that
//! the engine under it can be exchanged.

pub(super) mod fjall;
pub(super) mod memory;

use std::ops::{ControlFlow, RangeInclusive};

use bytes::Bytes;

use super::Revision;

/// A durable map from revisions to records.
pub(super) trait Log: Send + Sync + 'static {
    /// The record of one revision.
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError>;

    /// Visits the records of a range, in order, as they are at one moment, until told to stop.
    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError>;

    /// Makes all changes, durably, or fails. After a failure it is unknown which of them will be found later:
    /// nothing may be committed before [`reopen`](Self::reopen) succeeded.
    fn commit(&self, commit: &Commit) -> Result<(), LogError>;

    /// The newest revision ever noted as acknowledged; 0 when none was.
    fn acknowledged(&self) -> Result<Revision, LogError>;

    /// Remembers outside the log that a revision was acknowledged, so that a log that lost its end is found out.
    /// Cheap, and no more durable than the operating system's cache.
    fn note_acknowledged(&self, revision: Revision);

    /// Starts anew after a failed commit: what is found then is what there is. Leaves everything as it was while the
    /// cause of the failure persists.
    fn reopen(&self) -> Result<(), LogError>;

    /// Frees space of removed records, if that pays: `live_bytes` is what the records still there take. May take
    /// seconds; is called by one thread at a time.
    fn reclaim(&self, live_bytes: u64);

    /// What the log takes on disk.
    fn disk_bytes(&self) -> u64;

    /// Lets go of all resources; every later call fails.
    fn close(&self);
}

/// The changes of one commit.
#[derive(Debug, Default)]
pub(super) struct Commit {
    /// Records to add, under revisions that are not taken ([`META_REVISION`](super::record::META_REVISION) is
    /// overwritten).
    pub(super) records: Vec<(Revision, Bytes)>,
    /// Revisions whose records are to go.
    pub(super) removals: Vec<Revision>,
}

/// A failed access to the log.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LogError {
    /// The disk, or the operating system, refuses. Goes away with its cause.
    #[error("{0}")]
    Io(String),
    /// What is on disk is not what was written. Does not go away.
    #[error("{0}")]
    Damaged(String),
    /// Another process has it.
    #[error("the log is locked by another process")]
    Locked,
    /// The log was closed.
    #[error("the store is closed")]
    Closed,
}

// === impl Commit ===

impl Commit {
    /// Whether there is nothing to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.removals.is_empty()
    }
}
