//! The way back to a snapshot, as ordinary changes under new revisions.

use std::sync::Arc;

use super::super::snapshot::{Kept, Snapshot};
use super::super::state::SharedEngine;
use super::super::{KeyValue, MvccError, Revision};
use super::Action;
use super::batch::Batch;
use crate::mvcc::prefix_end;

// === impl Batch ===

impl Batch {
    /// Changes every key that differs from a snapshot: removes the keys that it does not have, newest first, and then writes
    /// the others, in the order in which they were written before. Keys that do not differ keep their revisions. Returns the
    /// revision at which the state is that of the snapshot.
    pub(super) fn restore(
        &mut self,
        shared: &SharedEngine,
        snapshot: &Snapshot,
    ) -> Result<Revision, MvccError> {
        // The revisions of the snapshot's keys, in its order; 0 for those that are absent.
        let mut revisions = vec![0; snapshot.len()];
        let mut surplus = Vec::new();
        for (key, revision) in self.present_keys(shared)? {
            match snapshot.place(&key).and_then(|place| revisions.get_mut(place)) {
                Some(known) => *known = revision,
                None => surplus.push((key, revision)),
            }
        }
        surplus.sort_unstable_by_key(|(_, revision)| std::cmp::Reverse(*revision));
        for (key, _) in surplus {
            let state = self.present(shared, &key)?;
            self.change(state, key, Action::Delete);
        }
        let is_own = snapshot.is_of(shared);
        for (kept, revision) in snapshot.kept().iter().zip(revisions) {
            if !is_own || revision != kept.revision {
                let present = if revision == 0 { None } else { self.present(shared, &kept.key)? };
                self.restore_key(present, kept);
            }
        }
        Ok(self.newest)
    }

    fn restore_key(&mut self, mut present: Option<KeyValue>, kept: &Kept) {
        if let Some(other) = &present
            && other.create_revision != kept.create_revision
        {
            // Another object under the same key: a watch sees that it goes before the former one comes back.
            self.change(present, kept.key.clone(), Action::Delete);
            present = None;
        }
        let expires_at_seconds = kept.expires_at_seconds;
        if expires_at_seconds == 0 && present.as_ref().is_some_and(|present| present.value == kept.value) {
            return;
        }
        let create_revision = present.is_none().then_some(kept.create_revision);
        let value = kept.value.clone();
        self.change_from(
            present,
            kept.key.clone(),
            Action::Put { value, expires_at_seconds },
            create_revision,
        );
    }

    /// Returns the keys after the writes of the batch so far, with their revisions.
    pub(super) fn present_keys(&self, shared: &SharedEngine) -> Result<Vec<(Arc<str>, Revision)>, MvccError> {
        let (_, found) = shared.find("", &prefix_end(""), 0, 0)?;
        let unchanged = found.keys.into_iter().filter(|(key, _)| !self.is_changed(key));
        Ok(unchanged.chain(self.changed_keys()).collect())
    }
}
