//! State shared by readers, watchers and the writer. Locks are held briefly, never during I/O.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use registry_meta::clock::Clock;
use tokio::sync::watch;
use uuid::Uuid;

use super::index::{Found, Index};
use super::log::Log;
use super::log_error::LogError;
use super::record::{EMPTY_REVISION, Record};
use super::{Change, Got, KeyValue, MvccError, Ranged, Revision};

/// Maximum number of keys examined under one lock.
const FIND_CHUNK: usize = 1024;

/// Maximum number of attempts of a read that compaction overtakes.
const READ_ATTEMPTS: usize = 16;

/// Maximum number of changes in the tail.
const MAX_TAIL_CHANGES: usize = 4096;

/// Approximate maximum size of the values in the tail, in bytes.
const MAX_TAIL_BYTES: usize = 4 * 1024 * 1024;

/// The shared state of the engine, without the writer's own.
pub(super) struct SharedEngine {
    pub(super) state: RwLock<EngineState>,
    pub(super) log: Box<dyn Log>,
    pub(super) head: watch::Sender<Head>,
    /// Tells stores of a process apart.
    pub(super) id: Uuid,
}

/// The state in memory.
pub(super) struct EngineState {
    pub(super) index: Index,
    pub(super) current: Revision,
    pub(super) compacted: Revision,
    pub(super) tail: Tail,
    /// The reason that writes are currently refused.
    pub(super) failure: Option<Arc<str>>,
}

/// The state that wakes watchers when it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The newest revision.
    pub(super) revision: Revision,
    /// Number of requests for progress notifications.
    pub(super) progress_requests: u64,
    /// Whether the store is closed.
    pub(super) is_closed: bool,
}

/// The expiry of a key, void if the key is written again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Expiry {
    pub(super) at_seconds: u64,
    pub(super) revision: Revision,
    pub(super) key: Arc<str>,
}

/// Returns when a time to live that begins now ends, in whole seconds since 1970, rounded up.
pub(super) fn expires_at_seconds(clock: &Clock, ttl: Duration) -> u64 {
    let end = clock.since_epoch().saturating_add(ttl);
    end.as_secs().saturating_add(u64::from(end.subsec_nanos() > 0))
}

/// The newest changes, without gaps, decoded once for all watchers.
#[derive(Debug, Default)]
pub(super) struct Tail {
    changes: VecDeque<Change>,
    bytes: usize,
}

// === impl SharedEngine ===

impl SharedEngine {
    /// Creates the state of a store from the index of its log, with the newest revision and that of the compaction.
    pub(super) fn new(log: Box<dyn Log>, index: Index, current: Revision, compacted: Revision) -> Arc<Self> {
        let state = EngineState { index, current, compacted, tail: Tail::default(), failure: None };
        let (head, _) = watch::channel(Head { revision: current, ..Head::default() });
        Arc::new(Self { state: RwLock::new(state), log, head, id: Uuid::new_v4() })
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, EngineState> {
        self.state.read()
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, EngineState> {
        self.state.write()
    }

    /// Returns the record of an indexed revision; `None` if compaction has removed it in the meantime.
    pub(super) fn record(&self, revision: Revision) -> Result<Option<Record<String>>, MvccError> {
        let Some(bytes) = self.log.read(revision)? else { return Ok(None) };
        Record::decode(revision, &bytes).map(Some).map_err(|damage| LogError::from(damage).into())
    }

    /// Returns the newest state of a key.
    pub(super) fn get(&self, key: &str) -> Result<Got, MvccError> {
        for _ in 0..READ_ATTEMPTS {
            let (revision, present) = {
                let state = self.read();
                (state.current, state.index.get(key))
            };
            let Some(present) = present else { return Ok(Got { revision, key_value: None }) };
            if let Some(record) = self.record(present.mod_revision)? {
                return Ok(Got { revision, key_value: Some(key_value(present.key, record)) });
            }
        }
        Err(missing_record(key))
    }

    /// Returns the keys of a range at a revision (0: newest).
    pub(super) fn range(
        &self,
        start: &str,
        end: &str,
        limit: u64,
        at: Revision,
    ) -> Result<Ranged, MvccError> {
        for _ in 0..READ_ATTEMPTS {
            let (revision, found) = match self.find(start, end, limit, at) {
                Err(MvccError::Compacted { .. }) if at == 0 => continue,
                found => found?,
            };
            if let Some(key_values) = self.values(found.keys)? {
                return Ok(Ranged { revision, key_values, count: found.count });
            }
            // Compaction was faster. The newest state is retried; for a given revision, `find` returns the error.
        }
        Err(missing_record(start))
    }

    /// Returns the current number of keys in a range.
    pub(super) fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        for _ in 0..READ_ATTEMPTS {
            match self.find(start, end, 1, 0) {
                Err(MvccError::Compacted { .. }) => {}
                found => return found.map(|(_, found)| found.count),
            }
        }
        Err(missing_record(start))
    }

    /// Finds the keys only. Holds the lock for a chunk of keys at a time: the index keeps what a revision needs until
    /// compaction passes it.
    pub(super) fn find(
        &self,
        start: &str,
        end: &str,
        limit: u64,
        at: Revision,
    ) -> Result<(Revision, Found), MvccError> {
        let mut found = Found::at_most(limit);
        let state = self.read();
        let current = state.current;
        let at = if at == 0 { current } else { at };
        if at > current {
            return Err(MvccError::FutureRevision { requested: at, current });
        }
        state.refuse_compacted(at)?;
        let mut last = state.index.find(Bound::Included(start), end, at, FIND_CHUNK, &mut found);
        drop(state);
        while let Some(key) = last {
            let state = self.read();
            state.refuse_compacted(at)?;
            last = state.index.find(Bound::Excluded(&key), end, at, FIND_CHUNK, &mut found);
        }
        Ok((current, found))
    }

    fn values(&self, keys: Vec<(Arc<str>, Revision)>) -> Result<Option<Vec<KeyValue>>, MvccError> {
        let mut key_values = Vec::with_capacity(keys.len());
        for (key, revision) in keys {
            let Some(record) = self.record(revision)? else { return Ok(None) };
            key_values.push(key_value(key, record));
        }
        Ok(Some(key_values))
    }
}

fn key_value(key: Arc<str>, record: Record<String>) -> KeyValue {
    KeyValue {
        key,
        value: record.value,
        mod_revision: record.revision,
        create_revision: record.create_revision,
    }
}

fn missing_record(key: &str) -> MvccError {
    LogError::Damaged(format!("the log does not hold a record the index knows (at {key})")).into()
}

impl From<LogError> for MvccError {
    fn from(error: LogError) -> Self {
        let text = match &error {
            LogError::Io(_) | LogError::OtherVersion(_) | LogError::Closed | LogError::Locked => {
                error.to_string()
            }
            LogError::Damaged(reason) => format!(
                "the embedded store is damaged: {reason}; stop the server and run `apiserver storage check`"
            ),
        };
        Self::Unavailable(text.into())
    }
}

// === impl EngineState ===

impl EngineState {
    /// Fails if the state at a revision has been compacted.
    pub(super) fn refuse_compacted(&self, revision: Revision) -> Result<(), MvccError> {
        // Before the empty store's revision there is nothing that could have been compacted.
        if revision.max(EMPTY_REVISION) < self.compacted {
            return Err(MvccError::Compacted { requested: revision, oldest: self.compacted });
        }
        Ok(())
    }
}

// === impl Tail ===

impl Tail {
    /// Adds the newest change.
    pub(super) fn push(&mut self, change: Change) {
        self.bytes += change_bytes(&change);
        self.changes.push_back(change);
    }

    /// Drops the oldest changes while there are too many, but none of the newest `kept`: those of a commit, so that watches
    /// need not read a large one from the log again.
    pub(super) fn trim(&mut self, kept: usize) {
        while self.changes.len() > kept
            && (self.changes.len() > MAX_TAIL_CHANGES || self.bytes > MAX_TAIL_BYTES)
        {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(change_bytes(&oldest));
        }
    }

    /// Returns at most `limit` changes of `[start, end)` after a revision, and the revision up to which they are
    /// complete; `None` if the tail does not reach back that far.
    pub(super) fn after(
        &self,
        after: Revision,
        start: &str,
        end: &str,
        limit: usize,
    ) -> Option<(Revision, Vec<Change>)> {
        let oldest = self.changes.front()?.revision;
        let skip = usize::try_from((after + 1).checked_sub(oldest)?).ok()?;
        let mut changes = Vec::new();
        let mut upto = after;
        for change in self.changes.range(skip.min(self.changes.len())..) {
            upto = change.revision;
            if (start..end).contains(&&*change.key) {
                changes.push(change.clone());
                if changes.len() == limit {
                    break;
                }
            }
        }
        Some((upto, changes))
    }
}

fn change_bytes(change: &Change) -> usize {
    let value = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
    change.key.len() + value(&change.value) + value(&change.previous)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: Revision) -> Change {
        Change { key: "/a".into(), revision, value: Some(bytes::Bytes::new()), previous: None }
    }

    #[test]
    fn the_tail_keeps_a_large_commit_until_the_next_one() {
        let large = MAX_TAIL_CHANGES + 10;
        let mut tail = Tail::default();
        let mut revision = EMPTY_REVISION;
        let mut commit = |tail: &mut Tail, changes: usize| {
            for _ in 0..changes {
                revision += 1;
                tail.push(change(revision));
            }
            tail.trim(changes);
            revision
        };
        let before = commit(&mut tail, 1);
        let after = commit(&mut tail, large);
        assert!(tail.after(before - 1, "/", "0", 1).is_none(), "a change before it is dropped");
        let (upto, changes) = tail.after(before, "/", "0", usize::MAX).unwrap();
        assert_eq!((upto, changes.len()), (after, large));
        commit(&mut tail, 1);
        assert_eq!(tail.changes.len(), MAX_TAIL_CHANGES);
        assert!(tail.after(before, "/", "0", 1).is_none());
    }
}
