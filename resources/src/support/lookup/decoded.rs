//! What is made of objects that every write looks at: made once for each of their revisions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use registry_core::api::{Object, StatusError};
use registry_core::storage::{Revision, StoredObject};

use super::Lookup;

/// So many are kept at most; when there are more, all are made anew as they are asked for.
const MAX_KEPT: usize = 4096;

/// The objects of one resource in a form that takes work to make.
///
/// Which objects there are, and at which revision, is asked each time: what is kept is never older than a look-up
/// without it would be.
pub(crate) struct Decoded<T> {
    lookup: Lookup,
    decode: fn(Object) -> T,
    kept: Mutex<Kept<T>>,
}

/// What was made, by the object's key, with the revision it was made of.
type Kept<T> = HashMap<Arc<str>, (Revision, Arc<T>)>;

// === impl Decoded ===

impl<T> Decoded<T> {
    /// What `decode` makes of the objects that are looked up.
    pub(crate) fn new(lookup: Lookup, decode: fn(Object) -> T) -> Self {
        Self { lookup, decode, kept: Mutex::default() }
    }

    /// All of a namespace, as cached.
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
