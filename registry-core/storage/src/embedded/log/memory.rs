//! The log without a disk: for tests and for servers without persistence.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};

use bytes::Bytes;
use parking_lot::RwLock;

use super::{Commit, Log, Revision};
use crate::embedded::log_error::LogError;

/// Records in memory, which end with the process; initially those of an empty store.
#[derive(Debug)]
pub(in super::super) struct MemoryLog {
    records: RwLock<BTreeMap<Revision, Bytes>>,
}

// === impl MemoryLog ===

impl Default for MemoryLog {
    fn default() -> Self {
        Self { records: RwLock::new(Commit::empty_store().records.into_iter().collect()) }
    }
}

impl Log for MemoryLog {
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError> {
        Ok(self.records.read().get(&revision).cloned())
    }

    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        // The copy makes the scan consistent; the bytes themselves are shared.
        let snapshot: Vec<(Revision, Bytes)> = {
            let records = self.records.read();
            records.range(range).map(|(revision, bytes)| (*revision, bytes.clone())).collect()
        };
        for (revision, bytes) in snapshot {
            if visit(revision, bytes).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        let mut records = self.records.write();
        for revision in &commit.removals {
            records.remove(revision);
        }
        records.extend(commit.records.iter().cloned());
        Ok(())
    }

    fn acknowledged(&self) -> Result<Revision, LogError> {
        Ok(0)
    }

    fn note_acknowledged(&self, _revision: Revision) {}

    fn reopen(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn reclaim(&self, _live_bytes: u64) {}

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn close(&self) {}
}
