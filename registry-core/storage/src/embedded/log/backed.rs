//! The log of a store whose objects are kept by a [`Backend`]: the history is in memory, the newest state in the backend.

use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;

use super::memory::MemoryLog;
use super::{Commit, Content, KeyChange, Log, Revision};
use crate::embedded::backend::{Backend, BackendChange, BackendError, BackendName};
use crate::embedded::log_error::{AccessError, LogError};
use crate::embedded::record::{Kind, META_REVISION, Record};

/// Records in memory, with a backend that is changed before them.
pub(in super::super) struct BackedLog {
    records: MemoryLog,
    backend: Arc<dyn Backend>,
    /// The prefix of the keys of the resource.
    prefix: String,
    /// The objects in the backend, as they were loaded or written last.
    known: Mutex<Content>,
}

// === impl BackedLog ===

impl BackedLog {
    /// Loads the objects of a backend.
    ///
    /// The first revision is the time in microseconds, so that revisions of a former process are older.
    pub(in super::super) fn open(backend: Arc<dyn Backend>, prefix: &str) -> Result<Self, BackendError> {
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let start = Revision::try_from(start.as_micros()).unwrap_or(Revision::MAX / 2).max(1);
        let known = load(&*backend, prefix)?;
        let mut objects: Vec<_> = known.iter().collect();
        objects.sort_unstable();
        let mut records = vec![(META_REVISION, Record::meta(start).encode())];
        for (revision, (key, value)) in (start + 1..).zip(objects) {
            records.push((revision, loaded_record(revision, key, value).encode()));
        }
        let log = MemoryLog::default();
        log.commit(&Commit { records, ..Commit::default() })?;
        Ok(Self { records: log, backend, prefix: prefix.to_owned(), known: Mutex::new(known) })
    }

    /// Returns the last change of each key in a commit, if the backend does not have its result yet.
    fn changes(&self, commit: &Commit) -> Result<Vec<(Arc<str>, BackendChange)>, LogError> {
        let mut seen = HashSet::new();
        let newest_first = commit.changes.iter().rev();
        let last: Vec<_> = newest_first.filter(|change| seen.insert(&change.key)).collect();

        let known = self.known.lock();
        let mut changes = Vec::new();
        for KeyChange { key, value } in last.into_iter().rev() {
            if known.get(key) == value.as_ref() {
                continue;
            }
            let name = BackendName::from_key(&self.prefix, key)
                .ok_or_else(|| LogError::Damaged(format!("{key} is not a key of {}", self.prefix)))?;
            changes.push((key.clone(), BackendChange { name, json: value.clone() }));
        }
        Ok(changes)
    }
}

/// Returns the objects of a backend by their keys.
fn load(backend: &dyn Backend, prefix: &str) -> Result<Content, BackendError> {
    let objects = backend.load()?;
    Ok(objects.into_iter().map(|object| (object.name.key(prefix).into(), object.json)).collect())
}

fn loaded_record(revision: Revision, key: &Arc<str>, value: &Bytes) -> Record<Arc<str>> {
    Record {
        kind: Kind::Put,
        revision,
        create_revision: revision,
        previous_revision: 0,
        expires_at_seconds: 0,
        key: key.clone(),
        value: value.clone(),
    }
}

fn failed(error: BackendError) -> LogError {
    LogError::Io(AccessError::Backend(error.into()))
}

impl Log for BackedLog {
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError> {
        self.records.read(revision)
    }

    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.records.scan(range, visit)
    }

    fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        let (keys, changes): (Vec<_>, Vec<_>) = self.changes(commit)?.into_iter().unzip();
        if !changes.is_empty() {
            self.backend.commit(&changes).map_err(failed)?;
        }
        let mut known = self.known.lock();
        for (key, change) in keys.into_iter().zip(changes) {
            match change.json {
                Some(json) => drop(known.insert(key, json)),
                None => drop(known.remove(&key)),
            }
        }
        drop(known);
        self.records.commit(commit)
    }

    fn acknowledged(&self) -> Result<Revision, LogError> {
        Ok(0)
    }

    fn note_acknowledged(&self, _revision: Revision) {}

    fn reopen(&self) -> Result<(), LogError> {
        self.reload().map(drop)
    }

    fn reload(&self) -> Result<Option<Content>, LogError> {
        let content = load(&*self.backend, &self.prefix).map_err(failed)?;
        self.known.lock().clone_from(&content);
        Ok(Some(content))
    }

    fn reload_interval(&self) -> Option<Duration> {
        self.backend.reload_interval()
    }

    fn reclaim(&self, _live_bytes: u64) {}

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn close(&self) {}
}
