//! The keys of a store on their way to another one, and a new store that is made of keys from elsewhere.
//!
//! A new store has no history: its compaction revision is its newest one. Watches that begin before it end with
//! [`MvccError::Compacted`](crate::mvcc::MvccError::Compacted), as after every compaction. Its keys keep the revisions that they
//! had, so that conditional writes of clients that know them succeed, and those of other clients do not.
//!
//! | module | contents |
//! |---|---|
//! | `followed` | a store whose server goes on while its keys are moved |
//! | `following` | a new store that is kept in step with another one |
//! | `questions` | what a move asks a server about its store |

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load::Loaded;
use super::log::Log as _;
use super::maintenance::unpublished::UnpublishedLog;
use super::maintenance::{ClosedStore, MaintenanceError, Report, check_store, damaged};
use super::record::{EMPTY_REVISION, Kind, META_REVISION, Record};
use super::{OpenError, Revision};
use crate::moving_key::{MovingKey, Tally};
use crate::mvcc::prefix_end;

mod followed;
mod following;
pub(super) mod questions;

pub use followed::{FollowedStore, FollowedStoreError, StoreFollower, StorePages};
pub use following::FollowingStore;

/// Number of keys of a page.
const PAGE_KEYS: usize = 128;

/// Reads all keys of a store that no process uses. Changes nothing in it.
pub struct StoreReader {
    store: ClosedStore,
    directory: PathBuf,
    keys: Vec<(Arc<str>, Revision)>,
    next: usize,
    revision: Revision,
    other_keys: u64,
    /// Whether records that cannot be read are passed over: a check has reported them.
    skips_damage: bool,
}

/// The revisions that keys get in a new store: those that they had, except where several keys have the same one, as an
/// etcd allows.
#[derive(Debug, Default)]
pub struct Renumbering {
    /// For each revision that is given differently, the next one to give.
    next: HashMap<Revision, Revision>,
    newest: Revision,
}

/// A store that is being made. It is in its directory once [`publish`](Self::publish) has returned; until then, and after a
/// crash, there is none.
pub struct NewStore {
    log: UnpublishedLog,
    directory: PathBuf,
    revision: Revision,
    renumbering: Renumbering,
}

// === impl StoreReader ===

impl StoreReader {
    /// Opens a store. Its keys are those below a prefix such as `/registry/`.
    ///
    /// # Errors
    /// Fails if there is no store, if a process uses it, or if it is damaged.
    pub fn open(directory: &Path, prefix: &str) -> Result<Self, MaintenanceError> {
        let store = ClosedStore::open(directory)?;
        let loaded = Loaded::from_log(&store.log).map_err(|error| OpenError::new(directory, error))?;
        Ok(Self::new(store, directory, &loaded, prefix))
    }

    /// Opens a store, damaged or not, and returns the problems of its records too. Those that cannot be read are passed over.
    ///
    /// # Errors
    /// Fails if there is no store, if a process uses it, or if its files cannot be opened.
    pub fn open_to_check(directory: &Path, prefix: &str) -> Result<(Self, Report), MaintenanceError> {
        let store = ClosedStore::open(directory)?;
        let (loaded, report) = check_store(&store);
        let reader = Self { skips_damage: true, ..Self::new(store, directory, &loaded, prefix) };
        Ok((reader, report))
    }

    fn new(store: ClosedStore, directory: &Path, loaded: &Loaded, prefix: &str) -> Self {
        let present = |start: &str, end: &str| loaded.index.present(start, end);
        let keys = present(prefix, &prefix_end(prefix));
        let other_keys = present("", &prefix_end("")).len() - keys.len();
        Self {
            store,
            directory: directory.to_owned(),
            next: 0,
            revision: loaded.current,
            other_keys: other_keys as u64,
            skips_damage: false,
            keys,
        }
    }

    /// Returns the newest revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the number of keys that do not have the prefix.
    pub fn other_keys(&self) -> u64 {
        self.other_keys
    }

    /// Begins again with the first key.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Returns the next keys, in order; none at the end.
    ///
    /// # Errors
    /// Fails if a record is damaged.
    pub fn next_page(&mut self) -> Result<Vec<MovingKey>, MaintenanceError> {
        let mut page = Vec::new();
        while page.is_empty() && self.next < self.keys.len() {
            let end = self.keys.len().min(self.next + PAGE_KEYS);
            for (_, revision) in self.keys.get(self.next..end).unwrap_or_default() {
                match self.read(*revision) {
                    Ok(key) => page.push(key),
                    Err(_) if self.skips_damage => {}
                    Err(error) => return Err(error),
                }
            }
            self.next = end;
        }
        Ok(page)
    }

    fn read(&self, revision: Revision) -> Result<MovingKey, MaintenanceError> {
        let bytes = self.store.log.read(revision).map_err(|error| OpenError::new(&self.directory, error))?;
        let missing = || damaged(&self.directory, format!("the record of revision {revision} is missing"));
        let record = Record::decode(revision, &bytes.ok_or_else(missing)?)
            .map_err(|problem| damaged(&self.directory, problem.to_string()))?;
        Ok(moving_key(record))
    }
}

fn moving_key(record: Record<String>) -> MovingKey {
    MovingKey {
        key: record.key,
        value: record.value,
        create_revision: record.create_revision,
        mod_revision: record.revision,
        expires_at_seconds: Some(record.expires_at_seconds).filter(|seconds| *seconds != 0),
    }
}

// === impl Renumbering ===

impl Renumbering {
    /// Finds the revisions for keys that have these, in any order.
    pub fn new(mut revisions: Vec<Revision>) -> Self {
        revisions.sort_unstable();
        let mut next = HashMap::new();
        let mut newest = EMPTY_REVISION;
        for (at, revision) in revisions.iter().enumerate() {
            newest = (newest + 1).max(*revision);
            let is_first = at.checked_sub(1).and_then(|before| revisions.get(before)) != Some(revision);
            let is_shared = revisions.get(at + 1) == Some(revision);
            if is_first && (is_shared || newest != *revision) {
                next.insert(*revision, newest);
            }
        }
        Self { next, newest }
    }

    /// Returns the newest revision that is given.
    pub fn newest(&self) -> Revision {
        self.newest
    }

    /// Whether a key gets another revision than it had.
    pub fn changes_some(&self) -> bool {
        !self.next.is_empty()
    }

    /// Returns the revision of the next key that has this one. Keys with the same revision must come in a fixed order.
    fn give(&mut self, revision: Revision) -> Revision {
        match self.next.get_mut(&revision) {
            Some(next) => {
                *next += 1;
                *next - 1
            }
            None => revision,
        }
    }
}

// === impl NewStore ===

impl NewStore {
    /// Begins a store in a directory, whose newest revision is going to be `revision`. The remains of an earlier attempt are
    /// removed.
    ///
    /// # Errors
    /// Fails if the directory is not empty or in use, or if the disk refuses.
    pub fn create(
        directory: &Path,
        revision: Revision,
        renumbering: Renumbering,
    ) -> Result<Self, MaintenanceError> {
        let mut log = UnpublishedLog::create(directory)?;
        log.add(META_REVISION, Record::meta(revision).encode())?;
        Ok(Self { log, directory: directory.to_owned(), revision, renumbering })
    }

    /// Adds keys.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn write(&mut self, keys: &[MovingKey]) -> Result<(), MaintenanceError> {
        for key in keys {
            let revision = self.renumbering.give(key.mod_revision);
            self.put(key, revision)?;
        }
        Ok(())
    }

    fn put(&mut self, key: &MovingKey, revision: Revision) -> Result<(), MaintenanceError> {
        let record = Record {
            kind: Kind::Put,
            revision,
            create_revision: key.create_revision.min(revision),
            previous_revision: 0,
            expires_at_seconds: key.expires_at_seconds.unwrap_or(0),
            key: key.key.as_str(),
            value: key.value.clone(),
        };
        self.log.add(revision, record.encode())
    }

    /// Changes the newest revision of the store.
    fn move_to(&mut self, revision: Revision) -> Result<(), MaintenanceError> {
        self.revision = revision;
        self.log.add(META_REVISION, Record::meta(revision).encode())
    }

    /// Writes what is pending, reads the whole store back as a start would, and returns what is in it.
    ///
    /// # Errors
    /// Fails if the disk refuses, or if a record differs from what was written.
    pub fn read_back(&mut self) -> Result<Tally, MaintenanceError> {
        self.log.commit()?;
        let mut loaded = Loaded::default();
        let mut tally = Tally::default();
        let mut problem = None;
        self.log.scan(&mut |revision, bytes| {
            let outcome = loaded.take(revision, &bytes).and_then(|()| Record::decode(revision, &bytes));
            match outcome {
                Ok(record) if record.kind == Kind::Put => {
                    tally.add(&record.key, &record.value, record.expires_at_seconds != 0);
                    ControlFlow::Continue(())
                }
                Ok(_) => ControlFlow::Continue(()),
                Err(damage) => {
                    problem = Some(damage);
                    ControlFlow::Break(())
                }
            }
        })?;
        match problem.map_or_else(|| loaded.finish(self.revision), Err) {
            Ok(()) => Ok(tally),
            Err(problem) => Err(damaged(&self.directory, problem.to_string())),
        }
    }

    /// Gives the store its name: from here on it is there.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn publish(self) -> Result<(), MaintenanceError> {
        self.log.publish(self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_revisions_are_given_apart_and_keep_their_order() {
        let given = |revisions: &[Revision]| {
            let mut renumbering = Renumbering::new(revisions.to_vec());
            let given = revisions.iter().map(|revision| renumbering.give(*revision)).collect::<Vec<_>>();
            assert!(given.iter().all(|given| *given <= renumbering.newest()), "{given:?}");
            given
        };
        assert_eq!(given(&[]), [0; 0]);
        assert_eq!(given(&[9, 3, 7]), [9, 3, 7]);
        assert_eq!(given(&[5, 5, 5]), [5, 6, 7]);
        // Whoever comes behind moves up, as far as needed.
        assert_eq!(given(&[6, 5, 9, 5]), [7, 5, 9, 6]);
        assert_eq!(given(&[7, 5, 5, 6, 6]), [9, 5, 6, 7, 8]);
        // Revision 1 is that of an empty store.
        assert_eq!(given(&[1, 2]), [2, 3]);
    }
}
