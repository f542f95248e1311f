//! The whole state of a store at a revision, and the way back to it: for tests, which begin from the same state.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::record::Record;
use super::state::SharedEngine;
use super::{MvccError, Revision};
use crate::mvcc::prefix_end;

/// Maximum number of attempts to read a state that compaction does not overtake.
const READ_ATTEMPTS: usize = 16;

/// The state of a store at a revision. A clone shares it.
///
/// It holds the values, so that it outlives compaction.
#[derive(Clone)]
pub struct Snapshot {
    revision: Revision,
    store: Uuid,
    /// In the order in which they were written.
    kept: Arc<[Kept]>,
    /// The places in `kept`.
    places: Arc<HashMap<Arc<str>, usize>>,
}

/// A key with its value.
pub(super) struct Kept {
    pub(super) key: Arc<str>,
    pub(super) value: Bytes,
    pub(super) revision: Revision,
    /// Identifies the life of the key between a creation and a deletion.
    pub(super) create_revision: Revision,
    pub(super) expires_at_seconds: u64,
}

// === impl Snapshot ===

impl Snapshot {
    /// Reads the newest state.
    pub(super) fn read(shared: &SharedEngine) -> Result<Self, MvccError> {
        let everything = prefix_end("");
        for _ in 0..READ_ATTEMPTS {
            let (revision, found) = match shared.find("", &everything, 0, 0) {
                Err(MvccError::Compacted { .. }) => continue,
                found => found?,
            };
            let mut kept = Vec::with_capacity(found.keys.len());
            for (key, revision) in &found.keys {
                let Some(record) = shared.record(*revision)? else { break };
                kept.push(Kept::new(key.clone(), record));
            }
            if kept.len() == found.keys.len() {
                return Ok(Self::new(shared.id, revision, kept));
            }
        }
        Err(MvccError::Unavailable("compaction is faster than the snapshot".into()))
    }

    fn new(store: Uuid, revision: Revision, mut kept: Vec<Kept>) -> Self {
        kept.sort_unstable_by_key(|kept| kept.revision);
        let places = kept.iter().enumerate().map(|(place, kept)| (kept.key.clone(), place)).collect();
        Self { revision, store, kept: kept.into(), places: Arc::new(places) }
    }

    /// Returns the revision of the state.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether its revisions are those of this store.
    pub(super) fn is_of(&self, shared: &SharedEngine) -> bool {
        self.store == shared.id
    }

    /// Returns the keys with their values, in the order in which they were written.
    pub(super) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Returns the place of a key among them.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision)
            .field("keys", &self.len())
            .finish_non_exhaustive()
    }
}

// === impl Kept ===

impl Kept {
    fn new(key: Arc<str>, record: Record<String>) -> Self {
        Self {
            key,
            value: record.value,
            revision: record.revision,
            create_revision: record.create_revision,
            expires_at_seconds: record.expires_at_seconds,
        }
    }
}
