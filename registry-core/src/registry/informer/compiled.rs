//! Objects by namespace and name, each in a form that is made once per change.

use std::ops::Bound;
use std::sync::Arc;

use arc_swap::ArcSwap;
use imbl::OrdMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::api::Object;
use crate::codec::json::Parts;
use crate::registry::store::Store;
use crate::storage::mvcc::prefix_end;
use crate::storage::{Revision, StoredObject};

use super::{Informer, InformerChange, InformerHandler};

/// The compiled objects of one resource, by namespace and name. A look-up takes no lock and decodes nothing.
///
/// A look-up shows the changes that have arrived, which may be slightly older than the newest acknowledged write; see
/// [`wait_for`](Self::wait_for).
pub struct Compiled<T> {
    store: Arc<Store>,
    compile: Box<Compile<T>>,
    published: ArcSwap<Snapshot<T>>,
    /// The state with the changes that are not published yet. Only the informer's task locks it.
    pending: Mutex<Objects<T>>,
    reached: watch::Sender<Revision>,
}

/// Everything but the managers of fields, which are most of many objects and concern only writes.
const PARTS: Parts = Parts::Except(&[&["metadata", "managedFields"]]);

/// Makes the compiled form of an object, which has no managers of fields.
type Compile<T> = dyn Fn(Object) -> Option<T> + Send + Sync;

/// The compiled objects by their keys in the store.
type Objects<T> = OrdMap<Arc<str>, CompiledObject<T>>;

/// A compiled object, with the revision it was made from.
struct CompiledObject<T> {
    revision: Revision,
    value: Arc<T>,
}

/// The compiled objects at one time.
pub struct Snapshot<T> {
    objects: Objects<T>,
    /// The prefix of all keys, with a trailing slash.
    prefix: Arc<str>,
    is_namespaced: bool,
}

// === impl Compiled ===

impl<T: Send + Sync + 'static> Compiled<T> {
    /// Creates the compiled form of a store's objects, empty, and the informer that fills it. `compile` is called once
    /// for each state of an object; an object for which it returns `None` is left out.
    pub fn informer(
        store: Arc<Store>,
        compile: impl Fn(Object) -> Option<T> + Send + Sync + 'static,
    ) -> (Arc<Self>, Informer<Self>) {
        let compiled = Arc::new(Self::new(store.clone(), compile));
        (compiled.clone(), Informer::new(store, compiled))
    }

    /// Creates the compiled form of a store's objects, empty. The informer that fills it must be of the same store.
    pub fn new(store: Arc<Store>, compile: impl Fn(Object) -> Option<T> + Send + Sync + 'static) -> Self {
        let objects = OrdMap::new();
        let snapshot = Snapshot {
            objects: objects.clone(),
            prefix: format!("{}/", store.root()).into(),
            is_namespaced: store.resource().is_namespaced(),
        };
        Self {
            store,
            compile: Box::new(compile),
            published: ArcSwap::from_pointee(snapshot),
            pending: Mutex::new(objects),
            reached: watch::Sender::new(0),
        }
    }

    /// Returns an object. The namespace of cluster-scoped objects is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.published.load().get(namespace, name)
    }

    /// Returns the compiled form of an object in exactly this state: the kept one, or one that is made now. For readers
    /// that read the objects themselves, so that they see the newest, and want them compiled.
    pub fn for_object(&self, object: &StoredObject) -> Option<Arc<T>> {
        let published = self.published.load();
        let kept = published.objects.get(&*object.key).filter(|kept| kept.revision == object.revision);
        kept.map(|kept| kept.value.clone()).or_else(|| self.compile(object).map(|compiled| compiled.value))
    }

    /// Returns all objects, by namespace and name.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.published.load().values().cloned().collect()
    }

    /// Returns the present state, which further changes do not affect.
    pub fn snapshot(&self) -> Arc<Snapshot<T>> {
        self.published.load_full()
    }

    /// Returns the revision up to which the snapshot contains all changes to this resource; 0 before the first list,
    /// while the snapshot is empty.
    pub fn revision(&self) -> Revision {
        *self.reached.borrow()
    }

    /// Returns a receiver of [`revision`](Self::revision), which is notified when the snapshot has advanced.
    pub fn subscribe(&self) -> watch::Receiver<Revision> {
        self.reached.subscribe()
    }

    /// Waits until the snapshot contains a given revision: the revision of a write to this resource, or a revision at
    /// which this resource was read. Does not end if the informer does not run, so that the caller must limit the time.
    pub async fn wait_for(&self, revision: Revision) {
        // The sender lives as long as this borrow, so that this cannot fail.
        let _ = self.reached.subscribe().wait_for(|reached| *reached >= revision).await;
    }

    /// Compiles an object; logs why it cannot be read.
    fn compile(&self, object: &StoredObject) -> Option<CompiledObject<T>> {
        let decoded = self.store.read_parts(object, PARTS);
        let decoded =
            decoded.inspect_err(|failure| tracing::warn!("an object is left out: {failure}")).ok()?;
        let value = Arc::new((self.compile)(decoded)?);
        Some(CompiledObject { revision: object.revision, value })
    }

    fn pending(&self) -> MutexGuard<'_, Objects<T>> {
        self.pending.lock()
    }
}

impl<T: Send + Sync + 'static> InformerHandler for Compiled<T> {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let before = self.pending().clone();
        let mut after = OrdMap::new();
        for object in &objects {
            // Results that were compiled from the same state are kept.
            let kept = before.get(&*object.key).filter(|kept| kept.revision == object.revision).cloned();
            if let Some(compiled) = kept.or_else(|| self.compile(object)) {
                after.insert(object.key.clone(), compiled);
            }
        }
        *self.pending() = after;
    }

    fn changed(&self, change: InformerChange) {
        let object = change.object();
        let compiled = match &change {
            InformerChange::Added(object) | InformerChange::Modified(object) => self.compile(object),
            InformerChange::Deleted(_) => None,
        };
        let mut pending = self.pending();
        match compiled {
            Some(compiled) => pending.insert(object.key.clone(), compiled),
            None => pending.remove(&*object.key),
        };
    }

    fn publish(&self) {
        let now = self.published.load();
        let snapshot = Snapshot {
            objects: self.pending().clone(),
            prefix: now.prefix.clone(),
            is_namespaced: now.is_namespaced,
        };
        self.published.store(Arc::new(snapshot));
    }

    fn reached(&self, revision: Revision) {
        self.reached.send_if_modified(|reached| std::mem::replace(reached, revision) != revision);
    }
}

// === impl Snapshot ===

impl<T> Snapshot<T> {
    /// Returns an object. The namespace of cluster-scoped objects is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let prefix = &*self.prefix;
        let key = if self.is_namespaced {
            format!("{prefix}{namespace}/{name}")
        } else {
            format!("{prefix}{name}")
        };
        self.objects.get(key.as_str()).map(|object| object.value.clone())
    }

    /// Returns all objects, by namespace and name.
    pub fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values().map(|object| &object.value)
    }

    /// Returns the objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        let start = format!("{}{namespace}/", self.prefix);
        let end = prefix_end(&start);
        let range = (Bound::Included(start.as_str()), Bound::Excluded(end.as_str()));
        self.objects.range::<_, str>(range).map(|(_, object)| &object.value)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

impl<T> Clone for CompiledObject<T> {
    fn clone(&self) -> Self {
        Self { revision: self.revision, value: self.value.clone() }
    }
}
