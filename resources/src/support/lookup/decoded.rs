//! Decoded forms of objects that every write reads: made once for each revision.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use registry_core::api::{Object, StatusError};
use registry_core::storage::{Revision, StoredObject};

use super::Lookup;

/// Maximum number of cached values; if there are more, the cache is cleared and they are made again on demand.
const MAX_KEPT: usize = 4096;

/// The objects of one resource in a form that is expensive to make.
///
/// The present objects and their revisions are read each time, so that a cached value is never older than a look-up
/// without the cache would be.
pub(crate) struct Decoded<T> {
    lookup: Lookup,
    decode: fn(Object) -> T,
    kept: Mutex<Kept<T>>,
}

/// The cached values, by the object's key, with the revision they were made from.
type Kept<T> = HashMap<Arc<str>, (Revision, Arc<T>)>;

// === impl Decoded ===

impl<T> Decoded<T> {
    /// Creates the cache of what `decode` returns for the objects of a look-up.
    pub(crate) fn new(lookup: Lookup, decode: fn(Object) -> T) -> Self {
        Self { lookup, decode, kept: Mutex::default() }
    }

    /// Returns all values of a namespace, from the cache.
    pub(crate) async fn all_in(&self, namespace: &str) -> Result<Vec<Arc<T>>, StatusError> {
        let entries = self.lookup.entries_in(namespace).await?;
        entries.iter().map(|entry| self.of(entry)).collect()
    }

    fn of(&self, entry: &StoredObject) -> Result<Arc<T>, StatusError> {
        if let Some((revision, made)) = self.kept().get(&entry.key)
            && *revision == entry.revision
        {
            return Ok(made.clone());
        }
        let made = Arc::new((self.decode)(self.lookup.store.read(entry)?));
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT && !kept.contains_key(&entry.key) {
            kept.clear();
        }
        kept.insert(entry.key.clone(), (entry.revision, made.clone()));
        Ok(made)
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
