//! Follows the metadata of all objects of all served kinds, which come and go.
//!
//! Objects of this server arrive by informers over its stores, those of extension servers by lists and watches. Events
//! are not followed: they have no dependents, and change often.
//!
//! Kubernetes concept: the monitors of `GraphBuilder` in `pkg/controller/garbagecollector`.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use registry_core::api::Object;
use registry_core::reflector::{Change, Ended, Sink};
use registry_core::registry::{Informer, InformerChange, InformerHandler, Synced};
use registry_core::storage::StoredObject;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::api_server::ApiServerError;
use crate::api_server::follow::follow;
use crate::handlers::ServedApi;

use super::client::Client;
use super::kinds::{Kind, Kinds};
use super::metadata::Metadata;

/// Time in which changes of what is served are gathered.
const GATHER: Duration = Duration::from_millis(10);
/// Maximum time for which the objects of an extension server are waited for.
const REMOTE_PATIENCE: Duration = Duration::from_secs(5);

/// Learns of objects. The calls about one kind are made one after the other, and must not block.
pub(super) trait Observer: Send + Sync + 'static {
    /// These are all objects of a kind: at first, and after changes may have been missed.
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]);

    /// An object was created or changed.
    fn changed(&self, kind: &Arc<Kind>, object: &Metadata);

    /// An object was removed.
    fn removed(&self, kind: &Arc<Kind>, object: &Metadata);

    /// A kind is not served any more.
    fn ended(&self, _kind: &Arc<Kind>) {}

    /// Other kinds are served than before.
    fn kinds_changed(&self) {}
}

/// The objects of all kinds.
pub(super) struct AllObjects {
    served: Arc<ServedApi>,
    client: Client,
    observers: Vec<Arc<dyn Observer>>,
    kinds: ArcSwap<Kinds>,
    /// The kinds that are followed at present.
    followed: Mutex<Vec<FollowedKind>>,
    /// Whether the kinds were read once.
    is_begun: watch::Sender<bool>,
}

struct FollowedKind {
    objects: Arc<ObjectsOfKind>,
    has_list: HasList,
    _task: AbortOnDropHandle<()>,
}

/// Whether the objects of a kind were listed.
#[derive(Clone)]
enum HasList {
    Stored(Synced),
    Remote(watch::Receiver<bool>),
}

/// Passes the objects of a kind on to the observers.
struct ObjectsOfKind {
    kind: Arc<Kind>,
    observers: Vec<Arc<dyn Observer>>,
    /// Whether the kind is followed; locked while an observer is called.
    is_followed: Mutex<bool>,
    is_listed: watch::Sender<bool>,
}

/// Follows the objects of an extension server.
struct RemoteFollower(Arc<ObjectsOfKind>);

// === impl AllObjects ===

impl AllObjects {
    /// Creates it, without any object.
    pub(super) fn new(served: Arc<ServedApi>, client: Client, observers: Vec<Arc<dyn Observer>>) -> Self {
        Self {
            served,
            client,
            observers,
            kinds: ArcSwap::default(),
            followed: Mutex::default(),
            is_begun: watch::Sender::new(false),
        }
    }

    /// Returns the kinds that are followed at present.
    pub(super) fn kinds(&self) -> Arc<Kinds> {
        self.kinds.load_full()
    }

    /// Reads the kinds that are served now. They may be more than those that are followed: something that was served a
    /// moment ago is followed a little later.
    pub(super) fn served_kinds(&self) -> Kinds {
        Kinds::new(self.served.collections())
    }

    /// Waits until the observers have seen all objects. Extension servers that do not respond are not waited for.
    pub(super) async fn synced(&self) {
        // The sender lives as long as this borrow.
        let _ = self.is_begun.subscribe().wait_for(|begun| *begun).await;
        let lists: Vec<HasList> = self.followed().iter().map(|followed| followed.has_list.clone()).collect();
        for list in lists {
            match list {
                HasList::Stored(synced) => {
                    synced.wait().await;
                }
                HasList::Remote(mut listed) => {
                    // If it takes longer, the objects arrive later.
                    let _ = tokio::time::timeout(REMOTE_PATIENCE, listed.wait_for(|listed| *listed)).await;
                }
            }
        }
    }

    /// Follows the objects until it is dropped.
    pub(super) async fn run(&self) {
        let mut changes = self.served.changes();
        loop {
            changes.mark_unchanged();
            self.follow_kinds();
            self.is_begun.send_replace(true);
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Reads which kinds are served, and follows exactly those.
    fn follow_kinds(&self) {
        let kinds = Arc::new(self.served_kinds());
        let wanted: Vec<_> = kinds.preferred.iter().filter(|kind| is_followed(kind)).cloned().collect();
        self.kinds.store(kinds);
        let mut ended = Vec::new();
        {
            let mut followed = self.followed();
            let before = std::mem::take(&mut *followed);
            let (kept, dropped): (Vec<_>, Vec<_>) = before
                .into_iter()
                .partition(|own| wanted.iter().any(|kind| is_followed_alike(kind, &own.objects.kind)));
            for kind in wanted {
                if !kept.iter().any(|own| is_followed_alike(&kind, &own.objects.kind)) {
                    followed.push(self.follow(&kind));
                }
            }
            followed.extend(kept);
            for own in dropped {
                let replaced =
                    followed.iter().any(|new| new.objects.kind.is_same_resource(&own.objects.kind));
                ended.push((own, replaced));
            }
        }
        for (own, is_replaced) in ended {
            *own.objects.is_followed() = false;
            if !is_replaced {
                self.observers.iter().for_each(|observer| observer.ended(&own.objects.kind));
            }
        }
        self.observers.iter().for_each(|observer| observer.kinds_changed());
    }

    fn follow(&self, kind: &Arc<Kind>) -> FollowedKind {
        let objects = Arc::new(ObjectsOfKind {
            kind: kind.clone(),
            observers: self.observers.clone(),
            is_followed: Mutex::new(true),
            is_listed: watch::Sender::new(false),
        });
        if let Some(store) = &kind.store {
            let informer = Informer::new(store.clone(), objects.clone());
            let has_list = HasList::Stored(informer.synced());
            let task = AbortOnDropHandle::new(tokio::spawn(informer.run()));
            return FollowedKind { objects, has_list, _task: task };
        }
        let has_list = HasList::Remote(objects.is_listed.subscribe());
        let (server, path) = (self.client.server().clone(), format!("{}?", kind.collection("")));
        let follower = RemoteFollower(objects.clone());
        let task = tokio::spawn(async move { follow(&*server, &path, follower).await });
        FollowedKind { objects, has_list, _task: AbortOnDropHandle::new(task) }
    }

    fn followed(&self) -> MutexGuard<'_, Vec<FollowedKind>> {
        self.followed.lock()
    }
}

/// Whether the objects of a kind are followed.
fn is_followed(kind: &Kind) -> bool {
    let is_event = kind.resource == "events" && matches!(kind.group.as_str(), "" | "events.k8s.io");
    kind.can_watch && kind.can_delete && !is_event
}

/// Whether a kind that is followed needs no other watch.
fn is_followed_alike(kind: &Kind, followed: &Kind) -> bool {
    let is_same_store = match (&kind.store, &followed.store) {
        (Some(own), Some(other)) => Arc::ptr_eq(own, other),
        (None, None) => true,
        _ => false,
    };
    is_same_store && kind.is_same_resource(followed) && kind.version == followed.version
}

// === impl ObjectsOfKind ===

impl ObjectsOfKind {
    fn is_followed(&self) -> MutexGuard<'_, bool> {
        self.is_followed.lock()
    }

    /// Calls the observers, unless the kind is not followed any more.
    fn observe(&self, call: impl Fn(&dyn Observer)) {
        let is_followed = self.is_followed();
        if *is_followed {
            self.observers.iter().for_each(|observer| call(&**observer));
        }
    }

    fn replace(&self, objects: &[Metadata]) {
        self.observe(|observer| observer.replaced(&self.kind, objects));
        self.is_listed.send_replace(true);
    }
}

impl InformerHandler for ObjectsOfKind {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let objects: Vec<Metadata> = objects.iter().filter_map(Metadata::read).collect();
        self.replace(&objects);
    }

    fn changed(&self, change: InformerChange) {
        let Some(object) = Metadata::read(change.object()) else { return };
        self.observe(|observer| match &change {
            InformerChange::Added(_) | InformerChange::Modified(_) => observer.changed(&self.kind, &object),
            InformerChange::Deleted(_) => observer.removed(&self.kind, &object),
        });
    }
}

// === impl RemoteFollower ===

impl Sink<Object, ApiServerError> for RemoteFollower {
    async fn replaced(&mut self, objects: Vec<Object>) {
        let objects = objects.into_iter().map(Object::into_value);
        let objects: Vec<Metadata> = objects.filter_map(|object| Metadata::from_value(&object)).collect();
        self.0.replace(&objects);
    }

    fn changed(&mut self, change: Change<Object>) {
        let (object, is_removed) = match change {
            Change::Added(object) | Change::Modified(object) => (object, false),
            Change::Deleted(object) => (object, true),
        };
        let Some(object) = Metadata::from_value(&object.into_value()) else { return };
        self.0.observe(|observer| {
            if is_removed {
                observer.removed(&self.0.kind, &object);
            } else {
                observer.changed(&self.0.kind, &object);
            }
        });
    }

    fn failed(&mut self, ended: &Ended<ApiServerError>, _: u32) {
        tracing::debug!(path = self.0.kind.collection(""), "cannot follow the objects: {ended}");
    }
}
