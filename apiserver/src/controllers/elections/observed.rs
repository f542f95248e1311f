//! The candidates of each Lease, and the Leases whose election is to be looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use registry_core::registry::{Informer, InformerChange, InformerHandler, InformerTask, Store};
use registry_core::storage::StoredObject;

use super::rules::{Candidate, LeaseKey};
use crate::controllers::queue::Queue;

/// The candidates of all Leases.
#[derive(Default)]
pub(super) struct ObservedElections {
    candidates: Mutex<BTreeMap<LeaseKey, BTreeMap<String, Arc<Candidate>>>>,
    /// As the cache of the store has them. Most Leases are renewed all the time, and have no candidates: they are not read.
    leases: Mutex<BTreeMap<LeaseKey, StoredObject>>,
    /// Gets the Leases whose election has to be looked at, while this server elects.
    queue: Mutex<Weak<Queue<LeaseKey>>>,
}

struct CandidateHandler(Arc<ObservedElections>);

struct LeaseHandler(Arc<ObservedElections>);

// === impl ObservedElections ===

impl ObservedElections {
    /// Creates the informers that keep it up to date.
    pub(super) fn informers(
        self: &Arc<Self>,
        candidates: Arc<Store>,
        leases: Arc<Store>,
    ) -> [InformerTask; 2] {
        [
            Informer::new(candidates, Arc::new(CandidateHandler(self.clone()))).into_task(),
            Informer::new(leases, Arc::new(LeaseHandler(self.clone()))).into_task(),
        ]
    }

    /// Notes all Leases with candidates in a queue, and from now on those whose election has to be looked at.
    pub(super) fn note_in(&self, queue: &Arc<Queue<LeaseKey>>) {
        *self.queue.lock() = Arc::downgrade(queue);
        for lease in self.candidates.lock().keys() {
            queue.add(lease.clone());
        }
    }

    /// Returns the candidates of a Lease, by name.
    pub(super) fn candidates(&self, lease: &LeaseKey) -> Vec<Arc<Candidate>> {
        let candidates = self.candidates.lock();
        candidates.get(lease).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Returns a Lease.
    pub(super) fn lease(&self, lease: &LeaseKey) -> Option<StoredObject> {
        self.leases.lock().get(lease).cloned()
    }

    fn note(&self, lease: LeaseKey) {
        if let Some(queue) = self.queue.lock().upgrade() {
            queue.add(lease);
        }
    }

    fn insert(&self, object: &StoredObject) {
        let Some(candidate) = read(object) else { return };
        let lease = candidate.lease.clone();
        let mut candidates = self.candidates.lock();
        candidates.entry(lease.clone()).or_default().insert(candidate.name.clone(), Arc::new(candidate));
        drop(candidates);
        self.note(lease);
    }

    fn remove(&self, object: &StoredObject) {
        let Some(candidate) = read(object) else { return };
        let mut candidates = self.candidates.lock();
        if let Some(of_lease) = candidates.get_mut(&candidate.lease) {
            of_lease.remove(&candidate.name);
            if of_lease.is_empty() {
                candidates.remove(&candidate.lease);
            }
        }
        drop(candidates);
        self.note(candidate.lease);
    }
}

/// Reads a candidate. One that cannot be read takes no part.
fn read(object: &StoredObject) -> Option<Candidate> {
    Candidate::read(&serde_json::from_slice(object.json()).ok()?)
}

/// Returns the namespace and the name of a Lease.
fn key(object: &StoredObject) -> Option<LeaseKey> {
    let mut segments = object.key.rsplit('/');
    let (name, namespace) = (segments.next()?, segments.next()?);
    Some((namespace.to_owned(), name.to_owned()))
}

// === impl CandidateHandler ===

impl InformerHandler for CandidateHandler {
    fn replaced(&self, objects: Vec<StoredObject>) {
        self.0.candidates.lock().clear();
        for object in &objects {
            self.0.insert(object);
        }
    }

    fn changed(&self, change: InformerChange) {
        match &change {
            InformerChange::Added(object) | InformerChange::Modified(object) => self.0.insert(object),
            InformerChange::Deleted(object) => self.0.remove(object),
        }
    }
}

// === impl LeaseHandler ===

impl InformerHandler for LeaseHandler {
    /// Elections are looked at from time to time.
    fn replaced(&self, objects: Vec<StoredObject>) {
        let leases = objects.into_iter().filter_map(|object| Some((key(&object)?, object)));
        *self.0.leases.lock() = leases.collect();
    }

    fn changed(&self, change: InformerChange) {
        let Some(lease) = key(change.object()) else { return };
        match change {
            InformerChange::Added(object) | InformerChange::Modified(object) => {
                self.0.leases.lock().insert(lease.clone(), object);
            }
            InformerChange::Deleted(_) => {
                self.0.leases.lock().remove(&lease);
            }
        }
        if self.0.candidates.lock().contains_key(&lease) {
            self.0.note(lease);
        }
    }
}
