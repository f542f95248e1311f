//! A new store that is kept in step with a source that goes on writing.

use std::collections::HashMap;
use std::path::Path;

use super::super::Revision;
use super::super::maintenance::MaintenanceError;
use super::super::record::EMPTY_REVISION;
use super::{NewStore, Renumbering};
use crate::moving_key::{MovingKey, Tally};

/// A store that is being made, whose keys change meanwhile. It has no history, and is in its directory once
/// [`publish`](Self::publish) has returned; until then, and after a crash, there is none.
pub struct FollowingStore {
    store: NewStore,
    keys: HashMap<String, Present>,
    /// The newest revision that was given.
    newest: Revision,
    /// The number of times that all keys of the source were read.
    reading: u64,
    /// Whether the keys of this reading are those that were numbered.
    is_numbered: bool,
    /// Whether a key got another revision than in the source: clients learn it only if they list again.
    is_renumbered: bool,
}

/// A key of the store.
struct Present {
    /// Its revision in the store.
    revision: Revision,
    /// That in the source.
    source_revision: Revision,
    expires: bool,
    /// The reading in which the source had the key.
    reading: u64,
}

// === impl FollowingStore ===

impl FollowingStore {
    /// Begins a store in a directory. The remains of an earlier attempt are removed.
    ///
    /// # Errors
    /// Fails if the directory is not empty or in use, or if the disk refuses.
    pub fn create(directory: &Path) -> Result<Self, MaintenanceError> {
        let store = NewStore::create(directory, EMPTY_REVISION, Renumbering::default())?;
        Ok(Self {
            store,
            keys: HashMap::new(),
            newest: EMPTY_REVISION,
            reading: 0,
            is_numbered: false,
            is_renumbered: false,
        })
    }

    /// Whether the store has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Begins to read all keys of the source, which then come by [`take`](Self::take). If the store is empty, the revisions that
    /// they have in the source may be known before, in any order; then no key gets a greater one than needed.
    pub fn begin_reading(&mut self, revisions: Option<Vec<Revision>>) {
        self.reading += 1;
        self.is_numbered = revisions.is_some();
        if let Some(revisions) = revisions {
            self.store.renumbering = Renumbering::new(revisions);
            self.newest = self.newest.max(self.store.renumbering.newest());
        }
    }

    /// Takes keys as they are in the source.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn take(&mut self, keys: &[MovingKey]) -> Result<(), MaintenanceError> {
        for key in keys {
            match self.keys.get_mut(&key.key) {
                Some(present) if present.source_revision == key.mod_revision => {
                    present.reading = self.reading;
                }
                _ if self.is_numbered => {
                    let revision = self.store.renumbering.give(key.mod_revision);
                    self.write(key, revision)?;
                }
                _ => self.put(key)?,
            }
        }
        Ok(())
    }

    /// Ends the reading: keys that did not come are removed.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn end_reading(&mut self) -> Result<(), MaintenanceError> {
        let reading = self.reading;
        let is_gone = |(key, present): (&String, &Present)| (present.reading != reading).then(|| key.clone());
        let gone: Vec<String> = self.keys.iter().filter_map(is_gone).collect();
        for key in gone {
            self.delete(&key)?;
        }
        self.store.log.commit()
    }

    /// Writes a key that was written in the source.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn put(&mut self, key: &MovingKey) -> Result<(), MaintenanceError> {
        self.delete(&key.key)?;
        self.newest = key.mod_revision.max(self.newest + 1);
        self.write(key, self.newest)
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn delete(&mut self, key: &str) -> Result<(), MaintenanceError> {
        match self.keys.remove(key) {
            Some(present) => self.store.log.remove(present.revision),
            None => Ok(()),
        }
    }

    /// Whether a key stays, rather than having a time to live.
    pub fn is_lasting(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|present| !present.expires)
    }

    /// Makes the newest revision of the store this one, or that of its newest key if that is greater, or one more if keys have other
    /// revisions than in the source. Returns it.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn move_to(&mut self, revision: Revision) -> Result<Revision, MaintenanceError> {
        let newest = revision.max(self.newest).saturating_add(Revision::from(self.is_renumbered));
        self.store.move_to(newest)?;
        Ok(newest)
    }

    /// Writes what is pending, reads the whole store back as a start would, and returns what is in it.
    ///
    /// # Errors
    /// Fails if the disk refuses, or if a record differs from what was written.
    pub fn read_back(&mut self) -> Result<Tally, MaintenanceError> {
        self.store.read_back()
    }

    /// Gives the store its name: from here on it is there.
    ///
    /// # Errors
    /// Fails if the disk refuses.
    pub fn publish(self) -> Result<(), MaintenanceError> {
        self.store.publish()
    }

    fn write(&mut self, key: &MovingKey, revision: Revision) -> Result<(), MaintenanceError> {
        self.store.put(key, revision)?;
        self.is_renumbered |= revision != key.mod_revision;
        let present = Present {
            revision,
            source_revision: key.mod_revision,
            expires: key.expires_at_seconds.is_some(),
            reading: self.reading,
        };
        self.keys.insert(key.key.clone(), present);
        Ok(())
    }
}
