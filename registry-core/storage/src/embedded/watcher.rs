//! A watch: a cursor over the history. It holds no changes itself: it reads undelivered changes from the shared tail,
//! or, if it fell behind, from the log.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::unfold;
use tokio::sync::watch;
use tokio::time::Instant;

use super::log_error::LogError;
use super::record::{EMPTY_REVISION, Kind, Record};
use super::state::{Head, SharedEngine};
use super::{Change, ChangeBatch, ChangeStream, MvccError, Revision};

/// Maximum number of changes in a batch.
const MAX_BATCH_CHANGES: usize = 256;

/// Approximate maximum size of a batch from the log, in bytes.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Maximum number of log records read at a time to find changes in the watch's range.
const MAX_SCAN_RECORDS: u64 = 1024;

struct Watcher {
    shared: Arc<SharedEngine>,
    head: watch::Receiver<Head>,
    start: Arc<str>,
    end: Arc<str>,
    /// All changes up to this revision have been delivered.
    after: Revision,
    progress_seen: u64,
    progress_interval: Option<Duration>,
    progress_due: Option<Instant>,
    is_over: bool,
}

/// Starts a watch of `[start, end)`.
pub(super) fn watch_range(
    shared: &Arc<SharedEngine>,
    start: &str,
    end: &str,
    after: Revision,
    progress_interval: Option<Duration>,
) -> Result<ChangeStream, MvccError> {
    shared.read().refuse_compacted(after)?;
    // The empty store's revision changed nothing.
    let after = after.max(EMPTY_REVISION);
    let head = shared.head.subscribe();
    let progress_seen = head.borrow().progress_requests;
    let watcher = Watcher {
        shared: shared.clone(),
        head,
        start: start.into(),
        end: end.into(),
        after,
        progress_seen,
        progress_interval,
        progress_due: progress_interval.map(|interval| Instant::now() + interval),
        is_over: false,
    };
    Ok(unfold(watcher, Watcher::next).boxed())
}

// === impl Watcher ===

impl Watcher {
    async fn next(mut self) -> Option<(Result<ChangeBatch, MvccError>, Self)> {
        if self.is_over {
            return None;
        }
        let next = self.next_batch().await?;
        self.is_over = next.is_err();
        self.progress_due = self.progress_interval.map(|interval| Instant::now() + interval);
        Some((next, self))
    }

    /// Returns the next batch; `None` if the store is closed and everything is delivered.
    async fn next_batch(&mut self) -> Option<Result<ChangeBatch, MvccError>> {
        loop {
            let head = *self.head.borrow_and_update();
            if self.after < head.revision {
                match self.changes(head.revision).await {
                    Ok(changes) if changes.is_empty() => continue,
                    Ok(changes) => return Some(Ok(ChangeBatch { revision: self.after, changes })),
                    Err(error) => return Some(Err(error)),
                }
            }
            if head.progress_requests != self.progress_seen {
                self.progress_seen = head.progress_requests;
                if let Some(progress) = self.progress(head) {
                    return Some(Ok(progress));
                }
            }
            if head.is_closed {
                return None;
            }
            if self.wait().await.is_break()
                && let Some(progress) = self.progress(head)
            {
                return Some(Ok(progress));
            }
        }
    }

    /// Returns an empty batch, unless the watch waits for a future revision.
    fn progress(&mut self, head: Head) -> Option<ChangeBatch> {
        self.progress_due = self.progress_interval.map(|interval| Instant::now() + interval);
        (self.after <= head.revision).then(|| ChangeBatch { revision: self.after, changes: Vec::new() })
    }

    /// Waits for a change; breaks if a progress notification is due first.
    async fn wait(&mut self) -> ControlFlow<()> {
        let Some(due) = self.progress_due else {
            // This watcher shares ownership of the sender: the channel cannot be closed. An error means that the
            // writer ended.
            let _ = self.head.changed().await;
            return ControlFlow::Continue(());
        };
        tokio::select! {
            _open = self.head.changed() => ControlFlow::Continue(()),
            () = tokio::time::sleep_until(due) => ControlFlow::Break(()),
        }
    }

    /// Returns the next changes and advances the cursor; empty if the records examined were all of other keys.
    async fn changes(&mut self, newest: Revision) -> Result<Vec<Change>, MvccError> {
        let tail = self.shared.read().tail.after(self.after, &self.start, &self.end, MAX_BATCH_CHANGES);
        let (upto, changes) = if let Some(recent) = tail {
            recent
        } else {
            let shared = self.shared.clone();
            let start = self.start.clone();
            let end = self.end.clone();
            let after = self.after;
            let read = move || shared.history(after, newest, &start, &end);
            let outcome = tokio::task::spawn_blocking(read).await;
            outcome.map_err(|error| MvccError::Unavailable(error.to_string().into()))??
        };
        self.after = upto;
        Ok(changes)
    }
}

// === impl SharedEngine ===

impl SharedEngine {
    /// Reads a batch of changes after a revision from the log. Also returns the revision up to which they are
    /// complete.
    fn history(
        &self,
        after: Revision,
        newest: Revision,
        start: &str,
        end: &str,
    ) -> Result<(Revision, Vec<Change>), MvccError> {
        let (upto, records) = self.records_after(after, newest, start, end)?;
        let changes = records.into_iter().map(|record| self.change(record)).collect::<Result<Vec<_>, _>>();
        // A record that is replaced may have been removed meanwhile.
        self.read().refuse_compacted(after)?;
        Ok((upto, changes?))
    }

    /// Reads a batch of records after a revision from the log. Also returns the revision up to which they are complete.
    pub(super) fn records_after(
        &self,
        after: Revision,
        newest: Revision,
        start: &str,
        end: &str,
    ) -> Result<(Revision, Vec<Record<String>>), MvccError> {
        let last = newest.min(after + MAX_SCAN_RECORDS);
        let mut records = Vec::new();
        let mut upto = after;
        let mut bytes_read = 0;
        let mut damage = None;
        self.log.scan(after + 1..=last, &mut |revision, bytes| {
            if revision != upto + 1 {
                return ControlFlow::Break(());
            }
            match Record::decode(revision, &bytes) {
                Ok(record) if (start..end).contains(&&*record.key) => {
                    bytes_read += bytes.len();
                    records.push(record);
                }
                Ok(_) => {}
                Err(problem) => {
                    damage = Some(problem);
                    return ControlFlow::Break(());
                }
            }
            upto = revision;
            if records.len() == MAX_BATCH_CHANGES || bytes_read > MAX_BATCH_BYTES {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        // Compaction is announced before records are removed: if it had removed any of the above, it would be visible
        // now.
        self.read().refuse_compacted(after)?;
        if let Some(problem) = damage {
            return Err(LogError::from(problem).into());
        }
        if upto == after {
            return Err(LogError::Damaged(format!("the record of revision {} is missing", after + 1)).into());
        }
        Ok((upto, records))
    }

    fn change(&self, record: Record<String>) -> Result<Change, MvccError> {
        let previous = match record.previous_revision {
            0 => None,
            revision => {
                let missing = || LogError::Damaged(format!("the record of revision {revision} is missing"));
                Some(self.record(revision)?.ok_or_else(missing)?.value)
            }
        };
        Ok(Change {
            key: record.key.into(),
            revision: record.revision,
            value: (record.kind == Kind::Put).then_some(record.value),
            previous,
        })
    }
}
