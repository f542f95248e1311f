//! Follows the objects of a list over HTTP: all of them at first, then every change.
//!
//! Kubernetes concept: `Reflector` of `k8s.io/client-go/tools/cache`.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use imbl::OrdMap;
use parking_lot::Mutex;
use registry_core::api::Object;
use registry_core::backoff::Backoff;
use tokio::sync::watch;
use tokio::time::Instant;

use super::source::{self, ApiServer, SourceError, SourceEvent};

/// The times before further attempts.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
/// A watch that lasted this long was healthy.
const HEALTHY: Duration = Duration::from_secs(10);

/// Receives the objects of a list.
pub(crate) trait Follower: Send {
    /// Replaces all objects.
    fn replaced(&mut self, objects: Vec<Object>);

    /// Applies a change.
    fn changed(&mut self, change: SourceEvent);

    /// The objects could not be read. It is tried again.
    fn failed(&mut self, failure: &SourceError);
}

/// Follows the list at a path with a query that ends in `?` or `&`, until it is dropped. Each attempt after a failure waits
/// longer than the one before, up to a limit.
pub(crate) async fn follow(server: &dyn ApiServer, path: &str, follower: &mut impl Follower) {
    let mut backoff = BACKOFF;
    loop {
        let began = Instant::now();
        let ended = follow_once(server, path, follower).await;
        if began.elapsed() >= HEALTHY {
            backoff.reset();
        }
        if let Err(failure) = &ended {
            follower.failed(failure);
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

/// Lists, then watches until the watch ends; it is resumed as long as the server only ends it in time.
async fn follow_once(
    server: &dyn ApiServer,
    path: &str,
    follower: &mut impl Follower,
) -> Result<(), SourceError> {
    let mut revision = list(server, path, follower).await?;
    loop {
        let began = Instant::now();
        let mut events = source::watch(server, path, revision).await?;
        while let Some(event) = events.next().await {
            match event {
                Ok(SourceEvent::Bookmark(reached)) => revision = reached,
                Ok(change) => {
                    if let SourceEvent::Added(object)
                    | SourceEvent::Modified(object)
                    | SourceEvent::Deleted(object) = &change
                    {
                        revision = source::revision_of(object)?;
                    }
                    follower.changed(change);
                }
                Err(SourceError::Gone(_)) => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
        if began.elapsed() < HEALTHY {
            return Ok(());
        }
    }
}

/// Lists all pages. Returns the revision of the list.
async fn list(server: &dyn ApiServer, path: &str, follower: &mut impl Follower) -> Result<u64, SourceError> {
    let mut objects = Vec::new();
    let mut token = None;
    loop {
        let page = source::page(server, path, token.as_deref()).await?;
        objects.extend(page.items);
        token = page.continue_token;
        if token.is_none() {
            follower.replaced(objects);
            return Ok(page.revision);
        }
    }
}

/// The followed objects, in a form that is made once per change. A look-up takes no lock.
pub(crate) struct Followed<T> {
    objects: ArcSwap<OrdMap<(String, String), Arc<T>>>,
    state: watch::Sender<FollowState>,
    failure: Mutex<Option<SourceError>>,
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
    /// Creates it, empty, with the follower that fills it. Objects for which `read` returns `None` are left out.
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
    pub(crate) fn failure(&self) -> Option<SourceError> {
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
    /// Waits for the next change. Those that have arrived since the last call count as one. Does not end if the objects are no
    /// longer followed.
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

impl<T: Send + Sync> Follower for Keeper<T> {
    fn replaced(&mut self, objects: Vec<Object>) {
        let read = |object: Object| Some((key(&object), Arc::new((self.read)(object)?)));
        self.followed.publish(objects.into_iter().filter_map(read).collect());
    }

    fn changed(&mut self, change: SourceEvent) {
        let mut objects = OrdMap::clone(&self.followed.objects.load());
        let (key, object) = match change {
            SourceEvent::Added(object) | SourceEvent::Modified(object) => (key(&object), (self.read)(object)),
            SourceEvent::Deleted(object) => (key(&object), None),
            SourceEvent::Bookmark(_) => return,
        };
        match object {
            Some(object) => objects.insert(key, Arc::new(object)),
            None => objects.remove(&key),
        };
        self.followed.publish(objects);
    }

    fn failed(&mut self, failure: &SourceError) {
        tracing::warn!("cannot follow {}, trying again: {failure}", self.what);
        *self.followed.failure.lock() = Some(failure.clone());
    }
}
