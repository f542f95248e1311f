//! The key index: in memory, every key's revisions back to the compaction point. Values stay in the log.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::Revision;
use super::record::{Kind, Record};

/// The revisions of all keys.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The newest revision of each key. Most keys have only this one, so older ones are stored separately.
    keys: BTreeMap<Arc<str>, Version>,
    /// Earlier revisions, oldest first, of the keys that have any.
    older: HashMap<Arc<str>, VecDeque<Version>>,
    record_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Version {
    revision: Revision,
    record_bytes: u32,
    is_deletion: bool,
}

/// A record that is no longer needed once the compaction revision reaches `at`.
#[derive(Clone, Debug)]
pub(super) struct Superseded {
    pub(super) at: Revision,
    pub(super) revision: Revision,
    pub(super) key: Arc<str>,
}

/// The current state of a key.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub(super) key: Arc<str>,
    pub(super) mod_revision: Revision,
}

/// Keys of a range, with their revisions.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Maximum number of keys that are kept; 0 is no limit.
    limit: u64,
    pub(super) keys: Vec<(Arc<str>, Revision)>,
    /// The number of all keys.
    pub(super) count: u64,
}

// === impl Found ===

impl Found {
    /// Returns an empty one that keeps at most `limit` keys (0: all).
    pub(super) fn at_most(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    fn add(&mut self, key: &Arc<str>, revision: Revision) {
        self.count += 1;
        if self.limit == 0 || (self.keys.len() as u64) < self.limit {
            self.keys.push((key.clone(), revision));
        }
    }
}

// === impl Index ===

impl Index {
    /// Applies the next record, in revision order. Returns the key as the index stores it, and the records it
    /// supersedes, in the order in which they may be removed.
    pub(super) fn apply<Key: AsRef<str> + Clone + Into<Arc<str>>>(
        &mut self,
        record: &Record<Key>,
        record_bytes: usize,
        superseded: &mut impl Extend<Superseded>,
    ) -> Arc<str> {
        let version = Version {
            revision: record.revision,
            record_bytes: u32::try_from(record_bytes).unwrap_or(u32::MAX),
            is_deletion: record.kind == Kind::Delete,
        };
        self.record_bytes += u64::from(version.record_bytes);
        let key = record.key.as_ref();
        let known = self.keys.range_mut::<str, _>((Bound::Included(key), Bound::Included(key))).next();
        let (own, before) = if let Some((own, newest)) = known {
            (own.clone(), Some(std::mem::replace(newest, version)))
        } else {
            let own: Arc<str> = record.key.clone().into();
            self.keys.insert(own.clone(), version);
            (own, None)
        };
        let superfluous = |revision| Superseded { at: version.revision, revision, key: own.clone() };
        if let Some(before) = before {
            self.older.entry(own.clone()).or_default().push_back(before);
            // A deletion has registered itself already.
            superseded.extend((!before.is_deletion).then(|| superfluous(before.revision)));
        }
        superseded.extend(version.is_deletion.then(|| superfluous(version.revision)));
        own
    }

    /// Removes a superseded record; older records of its key are removed already.
    pub(super) fn forget(&mut self, gone: &Superseded) {
        let Some(newest) = self.keys.get(&gone.key).copied() else { return };
        let version = if newest.revision == gone.revision {
            self.keys.remove(&gone.key);
            newest
        } else {
            let Some(older) = self.older.get_mut(&gone.key) else { return };
            let Some(version) = older.pop_front_if(|oldest| oldest.revision == gone.revision) else { return };
            if older.is_empty() {
                self.older.remove(&gone.key);
            }
            version
        };
        self.record_bytes = self.record_bytes.saturating_sub(u64::from(version.record_bytes));
    }

    /// Returns the current state of a key.
    pub(super) fn get(&self, key: &str) -> Option<Present> {
        let (own, newest) = self.keys.get_key_value(key)?;
        (!newest.is_deletion).then(|| Present { key: own.clone(), mod_revision: newest.revision })
    }

    /// Returns the newest revision of a key; 0 if it is absent.
    pub(super) fn key_revision(&self, key: &str) -> Revision {
        self.keys.get(key).filter(|newest| !newest.is_deletion).map_or(0, |newest| newest.revision)
    }

    /// Returns the keys of `[start, end)` that are there, with their newest revisions.
    pub(super) fn present(&self, start: &str, end: &str) -> Vec<(Arc<str>, Revision)> {
        let range = (Bound::Included(start), Bound::Excluded(end));
        let present = self.keys.range::<str, _>(range).filter(|(_, newest)| !newest.is_deletion);
        present.map(|(key, newest)| (key.clone(), newest.revision)).collect()
    }

    /// Adds to `found` the keys of `[start, end)` at a revision, examining at most `chunk` keys. Returns the key to
    /// continue at, unless the range is complete.
    pub(super) fn find(
        &self,
        start: Bound<&str>,
        end: &str,
        at: Revision,
        chunk: usize,
        found: &mut Found,
    ) -> Option<Arc<str>> {
        if let Bound::Included(start) | Bound::Excluded(start) = start
            && start >= end
        {
            return None;
        }
        let mut seen = 0;
        for (key, newest) in self.keys.range::<str, _>((start, Bound::Excluded(end))) {
            if let Some(revision) = self.revision_at(key, newest, at) {
                found.add(key, revision);
            }
            seen += 1;
            if seen == chunk {
                return Some(key.clone());
            }
        }
        None
    }

    /// Returns the revision of a key that was current at another revision; `None` if the key was absent.
    fn revision_at(&self, key: &str, newest: &Version, at: Revision) -> Option<Revision> {
        let version = if newest.revision <= at {
            newest
        } else {
            let older = self.older.get(key)?;
            let newer = older.partition_point(|older| older.revision <= at);
            older.get(newer.checked_sub(1)?)?
        };
        (!version.is_deletion).then_some(version.revision)
    }

    /// Returns the number of keys, including deleted ones that are not yet compacted.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the size in the log of all records in the index, in bytes.
    pub(super) fn record_bytes(&self) -> u64 {
        self.record_bytes
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn change(key: &str, revision: Revision, kind: Kind) -> Record<&str> {
        Record {
            kind,
            revision,
            create_revision: revision,
            previous_revision: 0,
            expires_at_seconds: 0,
            key,
            value: Bytes::new(),
        }
    }

    fn keys_at(index: &Index, revision: Revision) -> Vec<(String, Revision)> {
        let mut found = Found::default();
        let mut last = index.find(Bound::Included(""), "z", revision, 1, &mut found);
        while let Some(key) = last {
            last = index.find(Bound::Excluded(&key), "z", revision, 1, &mut found);
        }
        found.keys.into_iter().map(|(key, revision)| (key.to_string(), revision)).collect()
    }

    #[test]
    fn old_states_stay_until_they_are_forgotten_in_order() {
        let mut index = Index::default();
        let mut superseded = Vec::new();
        for (key, revision, kind) in [
            ("a", 2, Kind::Put),
            ("b", 3, Kind::Put),
            ("a", 4, Kind::Put),
            ("a", 5, Kind::Delete),
            ("a", 6, Kind::Put),
        ] {
            index.apply(&change(key, revision, kind), 10, &mut superseded);
        }
        let at = |revision| keys_at(&index, revision);
        assert_eq!(at(1), []);
        assert_eq!(at(3), [("a".to_owned(), 2), ("b".to_owned(), 3)]);
        assert_eq!(at(4), [("a".to_owned(), 4), ("b".to_owned(), 3)]);
        assert_eq!(at(5), [("b".to_owned(), 3)]);
        assert_eq!(at(6), [("a".to_owned(), 6), ("b".to_owned(), 3)]);
        // A value is always removed before the deletion that hides it.
        let order: Vec<_> = superseded.iter().map(|gone| (gone.at, gone.revision)).collect();
        assert_eq!(order, [(4, 2), (5, 4), (5, 5)]);
        for gone in &superseded {
            index.forget(gone);
        }
        assert_eq!(keys_at(&index, 6), [("a".to_owned(), 6), ("b".to_owned(), 3)]);
        assert_eq!(index.record_bytes(), 20);
    }

    #[test]
    fn a_deleted_key_leaves_nothing() {
        let mut index = Index::default();
        let mut superseded = Vec::new();
        index.apply(&change("a", 2, Kind::Put), 10, &mut superseded);
        index.apply(&change("a", 3, Kind::Delete), 10, &mut superseded);
        assert!(index.get("a").is_none());
        for gone in &superseded {
            index.forget(gone);
        }
        assert_eq!((index.len(), index.older.len(), index.record_bytes()), (0, 0, 0));
    }
}
