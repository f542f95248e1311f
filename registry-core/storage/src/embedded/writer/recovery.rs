//! Recovery after a failed commit. Nothing of the commit was acknowledged, and nothing of it may appear later: the
//! log is reopened, the parts of the batch found in it are removed durably, and only then are writes accepted again.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::super::log::Commit;
use super::super::log_error::LogError;
use super::super::record::{EMPTY_REVISION, META_REVISION, Record};
use super::super::{MvccError, Revision};
use super::batch::Batch;
use super::{Reverse, Writer};

/// Interval between checks whether writes succeed again.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

// === impl Writer ===

impl Writer {
    /// Refuses the batch's writes, and all others until [`recover`](Self::recover) succeeds.
    pub(super) fn fail(&mut self, batch: Batch, error: &LogError) {
        tracing::error!(%error, "a commit of the embedded store failed: writes are refused until it recovers");
        self.refuse_writes(error);
        let lost = MvccError::Unavailable(format!("the write could not be made durable: {error}").into());
        for reply in batch.replies {
            reply.fail(&lost);
        }
        self.expiries.extend(batch.expired.into_iter().map(Reverse));
    }

    /// Tries to resume writes.
    pub(super) fn recover(&mut self) {
        match self.shared.log.reopen().and_then(|()| self.discard_unacknowledged()) {
            Ok(compacted) => {
                let mut state = self.shared.write();
                state.compacted = state.compacted.max(compacted);
                state.failure = None;
                drop(state);
                self.next_probe = None;
                self.next_reload = Some(Instant::now());
                tracing::info!("the embedded store takes writes again");
            }
            Err(error) => self.refuse_writes(&error),
        }
    }

    pub(super) fn refuse_writes(&mut self, error: &LogError) {
        let reason = format!("the embedded store refuses writes because its last commit failed: {error}");
        self.shared.write().failure = Some(reason.into());
        self.next_probe = Some(Instant::now() + PROBE_INTERVAL);
    }

    /// Removes the records beyond the newest acknowledged revision; returns the compaction revision found. Its commit
    /// proves that writes succeed.
    fn discard_unacknowledged(&self) -> Result<Revision, LogError> {
        let log = &self.shared.log;
        let (current, compacted) = {
            let state = self.shared.read();
            (state.current, state.compacted)
        };
        if current > compacted && log.read(current)?.is_none() {
            return Err(LogError::Damaged(format!("the acknowledged revision {current} is lost")));
        }
        let meta = log.read(META_REVISION)?;
        let meta = meta.ok_or_else(|| LogError::Damaged("the compaction point is lost".to_owned()))?;
        let found = Record::decode(META_REVISION, &meta)?.create_revision;
        let mut removals = Vec::new();
        log.scan(current + 1..=Revision::MAX, &mut |revision, _| {
            removals.push(revision);
            ControlFlow::Continue(())
        })?;
        let compacted = found.max(compacted).max(EMPTY_REVISION);
        let records = vec![(META_REVISION, Record::meta(compacted).encode())];
        log.commit(&Commit { records, removals, ..Commit::default() })?;
        Ok(compacted)
    }
}
