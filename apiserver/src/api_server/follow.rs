//! Follows the objects of a list over HTTP: all of them at first, then every change.

use std::sync::Arc;

use arc_swap::ArcSwap;
use imbl::OrdMap;
use parking_lot::Mutex;
use registry_core::api::Object;
use registry_core::reflector::{Change, Ended, Listed, Reflector, Sink, Source};
use registry_core::storage::Revision;
use tokio::sync::watch;

use super::{ApiServer, ApiServerError, Events, page, watch as open_watch};

/// The list at a path with a query that ends in `?` or `&`.
struct RemoteList<'a> {
    server: &'a dyn ApiServer,
    path: &'a str,
}

/// Follows the list at a path with a query that ends in `?` or `&`, until it is dropped.
pub(crate) async fn follow(server: &dyn ApiServer, path: &str, sink: impl Sink<Object, ApiServerError>) {
    Reflector::new(RemoteList { server, path }, sink).run().await;
}

// === impl RemoteList ===

impl Source for RemoteList<'_> {
    type Object = Object;
    type Error = ApiServerError;
    type Changes = Events;

    /// Lists all pages.
    async fn list(&self) -> Result<Listed<Self>, ApiServerError> {
        let mut objects = Vec::new();
        let mut token = None;
        loop {
            let page = page(self.server, self.path, token.as_deref()).await?;
            objects.extend(page.items);
            token = page.continue_token;
            if token.is_none() {
                return Ok(Listed { objects, revision: page.revision, changes: None });
            }
        }
    }

    async fn watch(&self, after: Revision) -> Result<Events, ApiServerError> {
        open_watch(self.server, self.path, after).await
    }

    fn is_gone(error: &ApiServerError) -> bool {
        matches!(error, ApiServerError::Gone(_))
    }
}

/// The followed objects, in a form that is made once per change. A look-up takes no lock.
pub(crate) struct Followed<T> {
    objects: ArcSwap<OrdMap<(String, String), Arc<T>>>,
    state: watch::Sender<FollowState>,
    failure: Mutex<Option<ApiServerError>>,
}

/// The state of knowledge of the followed objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FollowState {
    is_listed: bool,
    changes: u64,
}

/// Waits for changes of followed objects.
pub struct Changes(watch::Receiver<FollowState>);

/// Applies changes to [`Followed`].
pub(crate) struct Keeper<T> {
    followed: Arc<Followed<T>>,
    read: fn(Object) -> Option<T>,
    /// The description of the followed objects, for the log.
    what: String,
}

// === impl Followed ===

impl<T> Followed<T> {
    /// Creates it, empty, with the sink that fills it. Objects for which `read` returns `None` are left out.
    pub(crate) fn new(what: String, read: fn(Object) -> Option<T>) -> (Arc<Self>, Keeper<T>) {
        let followed = Arc::new(Self {
            objects: ArcSwap::default(),
            state: watch::Sender::new(FollowState::default()),
            failure: Mutex::new(None),
        });
        (followed.clone(), Keeper { followed, read, what })
    }

    /// Returns an object. The namespace of cluster-scoped objects is empty.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.objects.load().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Returns the objects of a namespace, or of all if it is empty, by namespace and name.
    pub(crate) fn all(&self, namespace: &str) -> Vec<Arc<T>> {
        let objects = self.objects.load();
        let of_namespace = |key: &(String, String)| namespace.is_empty() || key.0 == namespace;
        objects.iter().filter(|(key, _)| of_namespace(key)).map(|(_, object)| object.clone()).collect()
    }

    /// Waits until all objects were listed once. Does not end while that fails, so that the caller must limit the time.
    pub(crate) async fn listed(&self) {
        // The sender lives as long as this borrow, so that this cannot fail.
        let _ = self.state.subscribe().wait_for(|state| state.is_listed).await;
    }

    /// Returns what waits for changes from now on.
    pub(crate) fn changes(&self) -> Changes {
        Changes(self.state.subscribe())
    }

    /// Returns why the objects could not be read last, unless they were since.
    pub(crate) fn failure(&self) -> Option<ApiServerError> {
        self.failure.lock().clone()
    }

    fn publish(&self, objects: OrdMap<(String, String), Arc<T>>) {
        self.objects.store(Arc::new(objects));
        *self.failure.lock() = None;
        self.state.send_modify(|state| {
            state.is_listed = true;
            state.changes += 1;
        });
    }
}

// === impl Changes ===

impl Changes {
    /// Waits for the next change. Those that have arrived since the last call count as one. Does not end if the objects
    /// are no longer followed.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

// === impl Keeper ===

fn key(object: &Object) -> (String, String) {
    (object.namespace().to_owned(), object.name().to_owned())
}

impl<T: Send + Sync> Sink<Object, ApiServerError> for Keeper<T> {
    async fn replaced(&mut self, objects: Vec<Object>) {
        let read = |object: Object| Some((key(&object), Arc::new((self.read)(object)?)));
        self.followed.publish(objects.into_iter().filter_map(read).collect());
    }

    fn changed(&mut self, change: Change<Object>) {
        let mut objects = OrdMap::clone(&self.followed.objects.load());
        let (key, object) = match change {
            Change::Added(object) | Change::Modified(object) => (key(&object), (self.read)(object)),
            Change::Deleted(object) => (key(&object), None),
        };
        match object {
            Some(object) => objects.insert(key, Arc::new(object)),
            None => objects.remove(&key),
        };
        self.followed.publish(objects);
    }

    fn resumed(&mut self) {
        *self.followed.failure.lock() = None;
    }

    fn failed(&mut self, ended: &Ended<ApiServerError>, _: u32) {
        if let Ended::Failed(failure) = ended {
            tracing::warn!("cannot follow {}, trying again: {failure}", self.what);
            *self.followed.failure.lock() = Some(failure.clone());
        }
    }
}
