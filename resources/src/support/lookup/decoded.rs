//! Decoded forms of objects that every write reads: made by an informer, once for each state of an object.

use std::sync::Arc;

use parking_lot::Mutex;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Compiled, Informer, InformerTask};
use registry_core::storage::StoredObject;

use super::Lookup;

/// The objects of one resource in a form that is expensive to make.
///
/// The present objects are read each time, as they are in the cache, so that no look-up is older than one without this
/// would be. Only their decoded forms come from the informer; one that it has not made yet is made for the reader.
pub(crate) struct Decoded<T> {
    lookup: Lookup,
    compiled: Arc<Compiled<T>>,
    informer: Mutex<Option<Informer<Compiled<T>>>>,
}

// === impl Decoded ===

impl<T: Send + Sync + 'static> Decoded<T> {
    /// Creates what `decode` returns for the objects of a look-up.
    pub(crate) fn new(lookup: Lookup, decode: fn(Object) -> T) -> Self {
        let (compiled, informer) =
            Compiled::informer(lookup.store.clone(), move |object| Some(decode(object)));
        Self { lookup, compiled, informer: Mutex::new(Some(informer)) }
    }

    /// Returns the informer that decodes the objects ahead of the look-ups, the first time it is called.
    pub(crate) fn informer(&self) -> Option<InformerTask> {
        let mut informer = self.informer.lock();
        informer.take().map(Informer::into_task)
    }

    /// Returns all values of a namespace, from the cache.
    pub(crate) async fn all_in(&self, namespace: &str) -> Result<Vec<Arc<T>>, StatusError> {
        let entries = self.lookup.entries_in(namespace).await?;
        entries.iter().map(|entry| self.decode(entry)).collect()
    }

    /// Returns the value of an object from the cache; if it is missing there, reads consistently.
    pub(crate) async fn get(&self, namespace: &str, name: &str) -> Result<Option<Arc<T>>, StatusError> {
        self.lookup.entry(namespace, name).await?.map(|entry| self.decode(&entry)).transpose()
    }

    fn decode(&self, entry: &StoredObject) -> Result<Arc<T>, StatusError> {
        let unreadable =
            || StatusError::internal(format!("the stored value of {} cannot be read", entry.key));
        self.compiled.for_object(entry).ok_or_else(unreadable)
    }
}

#[cfg(test)]
mod tests;
