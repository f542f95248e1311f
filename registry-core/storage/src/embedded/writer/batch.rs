//! The writes of one commit: checks conditions, assigns revisions, prepares replies.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::super::log::{Commit, KeyChange};
use super::super::record::{Kind, META_REVISION, Record};
use super::super::state::{Expiry, SharedEngine};
use super::super::{Change, Committed, Got, KeyValue, MvccError, Revision};
use super::{Action, Write};

/// A commit being assembled.
pub(super) struct Batch {
    /// The changes to publish.
    pub(super) changes: Vec<Pending>,
    /// The replies to send.
    pub(super) replies: Vec<Reply>,
    /// The revision after the batch.
    pub(super) newest: Revision,
    /// The compaction revision after the batch, if it changes.
    pub(super) compact_to: Revision,
    /// Number of superseded records removed.
    pub(super) removals: usize,
    /// Expiries that were tried; they are restored if the batch fails.
    pub(super) expired: Vec<Expiry>,
    current: Revision,
    compacted: Revision,
    commit: Commit,
    /// The state of keys after earlier writes of the batch.
    overlay: HashMap<Arc<str>, Option<KeyValue>>,
}

/// A change that is not yet committed.
pub(super) struct Pending {
    pub(super) record: Record<Arc<str>>,
    pub(super) record_bytes: usize,
    pub(super) change: Change,
}

/// A reply that waits for the commit.
pub(super) enum Reply {
    Write(oneshot::Sender<Result<Committed, MvccError>>, Result<Committed, MvccError>),
    Compact(oneshot::Sender<Result<(), MvccError>>, Result<(), MvccError>),
    Restore(oneshot::Sender<Result<Revision, MvccError>>, Result<Revision, MvccError>),
}

// === impl Batch ===

impl Batch {
    /// Creates an empty batch after a revision.
    pub(super) fn new(current: Revision, compacted: Revision) -> Self {
        Self {
            changes: Vec::new(),
            replies: Vec::new(),
            newest: current,
            compact_to: 0,
            removals: 0,
            expired: Vec::new(),
            current,
            compacted,
            commit: Commit::default(),
            overlay: HashMap::new(),
        }
    }

    /// Adds a write: its condition is checked against the state after the preceding writes.
    pub(super) fn write(&mut self, shared: &SharedEngine, write: Write) {
        let Write { key, expected, action, reply } = write;
        let outcome = self.present(shared, &key).map(|present| {
            let revision = present.as_ref().map_or(0, |present| present.mod_revision);
            if revision == expected {
                self.change(present, key, action)
            } else {
                Committed::ConditionFailed(Got { revision: self.newest, key_value: present })
            }
        });
        self.replies.extend(reply.map(|reply| Reply::Write(reply, outcome)));
    }

    /// Adds a compaction.
    pub(super) fn compact(&mut self, revision: Revision, reply: oneshot::Sender<Result<(), MvccError>>) {
        let outcome = if revision > self.current {
            Err(MvccError::FutureRevision { requested: revision, current: self.current })
        } else {
            self.compact_to(revision);
            Ok(())
        };
        self.replies.push(Reply::Compact(reply, outcome));
    }

    /// Advances the compaction revision, never backwards.
    pub(super) fn compact_to(&mut self, revision: Revision) {
        if revision > self.compacted {
            self.compact_to = self.compact_to.max(revision);
        }
    }

    /// Adds old records to remove.
    pub(super) fn remove(&mut self, revisions: impl Iterator<Item = Revision>) {
        self.commit.removals.extend(revisions);
        self.removals = self.commit.removals.len();
    }

    /// Returns the commit.
    pub(super) fn seal(&mut self) -> Commit {
        if self.compact_to != 0 {
            self.commit.records.push((META_REVISION, Record::meta(self.compact_to).encode()));
        }
        std::mem::take(&mut self.commit)
    }

    /// Returns the key's state after the writes of the batch so far.
    pub(super) fn present(&self, shared: &SharedEngine, key: &str) -> Result<Option<KeyValue>, MvccError> {
        match self.overlay.get(key) {
            Some(present) => Ok(present.clone()),
            None => Ok(shared.get(key)?.key_value),
        }
    }

    /// Whether an earlier write of the batch changes a key.
    pub(super) fn is_changed(&self, key: &str) -> bool {
        self.overlay.contains_key(key)
    }

    /// Returns the keys that earlier writes of the batch leave present, with their revisions.
    pub(super) fn changed_keys(&self) -> impl Iterator<Item = (Arc<str>, Revision)> {
        self.overlay.values().flatten().map(|present| (present.key.clone(), present.mod_revision))
    }

    /// Changes a key that has this state.
    pub(super) fn change(&mut self, present: Option<KeyValue>, key: Arc<str>, action: Action) -> Committed {
        self.change_from(present, key, action, None)
    }

    /// Like [`change`](Self::change); an absent key begins with the given revision of its creation.
    pub(super) fn change_from(
        &mut self,
        present: Option<KeyValue>,
        key: Arc<str>,
        action: Action,
        created: Option<Revision>,
    ) -> Committed {
        let (kind, value, expires_at_seconds) = match action {
            Action::Put { value, expires_at_seconds } => (Kind::Put, value, expires_at_seconds),
            // An absent key needs no deletion.
            Action::Delete if present.is_none() => return Committed::At(self.newest),
            Action::Delete => (Kind::Delete, Bytes::new(), 0),
        };
        self.newest += 1;
        let key = present.as_ref().map_or(key, |present| present.key.clone());
        let record = Record {
            kind,
            revision: self.newest,
            create_revision: present
                .as_ref()
                .map_or(created.unwrap_or(self.newest), |present| present.create_revision),
            previous_revision: present.as_ref().map_or(0, |present| present.mod_revision),
            expires_at_seconds,
            key: key.clone(),
            value: value.clone(),
        };
        let is_put = kind == Kind::Put;
        let change = Change {
            key: key.clone(),
            revision: record.revision,
            value: is_put.then(|| value.clone()),
            previous: present.map(|present| present.value),
        };
        let after = is_put.then(|| KeyValue {
            key: key.clone(),
            value,
            mod_revision: record.revision,
            create_revision: record.create_revision,
        });
        self.commit.changes.push(KeyChange { key: key.clone(), value: change.value.clone() });
        self.overlay.insert(key, after);
        let bytes = record.encode();
        let record_bytes = bytes.len();
        self.commit.records.push((record.revision, bytes));
        self.changes.push(Pending { record, record_bytes, change });
        Committed::At(self.newest)
    }
}

// === impl Reply ===

impl Reply {
    /// Sends the replies. Receivers that no longer wait are ignored.
    pub(super) fn send(self) {
        match self {
            Self::Write(reply, outcome) => drop(reply.send(outcome)),
            Self::Compact(reply, outcome) => drop(reply.send(outcome)),
            Self::Restore(reply, outcome) => drop(reply.send(outcome)),
        }
    }

    /// Replies that the commit failed, except to writes that were refused before.
    pub(super) fn fail(self, error: &MvccError) {
        match self {
            Self::Write(reply, Ok(_)) => drop(reply.send(Err(error.clone()))),
            Self::Compact(reply, Ok(())) => drop(reply.send(Err(error.clone()))),
            Self::Restore(reply, Ok(_)) => drop(reply.send(Err(error.clone()))),
            refused => refused.send(),
        }
    }
}
