//! Informers: compiled forms of a resource's objects that follow every change.
//!
//! An [`Informer`] lists a resource, then watches it, and hands both to its [`InformerHandler`], which keeps whatever it
//! makes of the objects: decoded, compiled, indexed. Each object is read once per change, instead of once per request.
//! The objects come from the watch cache, as the bytes that it holds anyway.
//!
//! | part | purpose |
//! |---|---|
//! | [`Informer`] | the list, the watch, and what happens when they fail |
//! | [`Compiled`] | the handler for most uses: objects by namespace and name, each made by one function |
//! | [`Synced`] | whether the first list was handled, for readiness |
//! | [`InformerTask`] | an informer without its handler's type, for the server, which runs them |
//!
//! The handler sees a consistent state: all objects at one revision, then every later change exactly once and in order.
//! When changes may have been missed, all objects are listed again.
//!
//! Kubernetes concept: `k8s.io/client-go/tools/cache` (`SharedInformer`, `Reflector`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::ListOptions;
use crate::context::RequestContext;
use crate::notice::Notice;
use crate::rest::Watcher as _;
use crate::storage::{Revision, StoredObject, WatchEvent, WatchStream};

use super::store::Store;

mod arrived;
mod compiled;
mod ended;
mod retry;
mod synced;
mod task;

#[cfg(test)]
mod tests;

use arrived::Arrived;
pub use compiled::{Compiled, Snapshot};
use ended::Ended;
use retry::Retry;
pub use synced::Synced;
pub use task::InformerTask;

/// Number of changes after which a snapshot is published even if more have arrived already.
const MAX_UNPUBLISHED: usize = 16_384;

/// Number of objects from which a list is handled on a thread where it delays no request.
const LARGE_LIST: usize = 500;

/// Number of initial objects that are taken before other tasks may run.
const INITIAL_BATCH: usize = 1_024;

/// Maximum time for which an informer waits until the watch cache is filled, and the interval between its checks.
const CACHE_PATIENCE: Duration = Duration::from_secs(30);
const CACHE_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Keeps a compiled form of a resource's objects up to date.
///
/// The methods are called by one task, never concurrently. They must not block for long. If one panics, all objects are
/// listed again.
pub trait InformerHandler: Send + Sync + 'static {
    /// Replaces everything: the result of the initial list, or of a new one after the watch was lost.
    fn replaced(&self, objects: Vec<StoredObject>);

    /// Applies one change. Changes arrive in order.
    fn changed(&self, change: InformerChange);

    /// Called after all changes that have arrived together were applied: publish a snapshot here, not per change.
    fn publish(&self) {}

    /// Called when the last published snapshot contains every change to this resource up to a revision. Also called when other
    /// resources have advanced the revision.
    fn reached(&self, _revision: Revision) {}
}

/// One change of an object.
#[derive(Clone, Debug)]
pub enum InformerChange {
    /// The object was created.
    Added(StoredObject),
    /// The object was updated.
    Modified(StoredObject),
    /// The object was deleted: its last state, with the revision of the deletion.
    Deleted(StoredObject),
}

/// Lists and watches one resource for a handler.
pub struct Informer<H> {
    store: Arc<Store>,
    handler: Arc<H>,
    gathering: Duration,
    synced: watch::Sender<bool>,
}

// === impl InformerChange ===

impl InformerChange {
    /// Returns the object: its present state, or its last one.
    pub fn object(&self) -> &StoredObject {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

// === impl Informer ===

impl<H: InformerHandler> Informer<H> {
    /// Creates an informer. It does nothing until it [runs](Self::run).
    pub fn new(store: Arc<Store>, handler: Arc<H>) -> Self {
        Self { store, handler, gathering: Duration::ZERO, synced: watch::Sender::new(false) }
    }

    /// Waits this long after a change for further ones before they are published together; by default not at all. For
    /// handlers whose [`publish`](InformerHandler::publish) costs more than a change.
    #[must_use]
    pub fn gathering(mut self, duration: Duration) -> Self {
        self.gathering = duration;
        self
    }

    /// Completes when the first list was handled.
    pub fn synced(&self) -> Synced {
        Synced::new(self.synced.subscribe())
    }

    /// Returns the handler.
    pub fn handler(&self) -> &Arc<H> {
        &self.handler
    }

    /// Returns the informer as a task.
    pub fn into_task(self) -> InformerTask {
        InformerTask::new(self.store.resource().group_resource(), self.synced(), self.run())
    }

    /// Lists and watches until it is dropped. A watch that was interrupted is resumed where it was; when that is not
    /// possible, all objects are listed again. Each attempt after a failure waits longer than the one before, up to a
    /// limit.
    pub async fn run(self) {
        let mut position = None;
        let mut retry = Retry::default();
        let mut persistent = Notice::default();
        loop {
            let began = Instant::now();
            let followed = AssertUnwindSafe(self.follow(&mut position)).catch_unwind().await;
            let ended = followed.unwrap_or_else(|_| Ended::Lost("the handler panicked".to_owned()));
            let resource = self.store.resource().group_resource();
            tracing::debug!(%resource, "an informer's watch has ended: {ended}");
            let pause = retry.after(began.elapsed());
            if matches!(ended, Ended::Lost(_)) || !retry.may_resume() {
                position = None;
            }
            if retry.is_persistent() {
                persistent.log(|times| {
                    tracing::warn!(%resource, times, "cannot follow the changes, trying again: {ended}");
                });
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Watches from a position on, or lists first if there is none, until the watch ends.
    async fn follow(&self, position: &mut Option<Revision>) -> Ended {
        let mut stream = match self.watch(*position).await {
            Ok(stream) => stream,
            Err(ended) => return ended,
        };
        if position.is_none() {
            match self.load(&mut stream).await {
                Ok(revision) => *position = Some(revision),
                Err(ended) => return ended,
            }
        }
        let mut arrived = Arrived::default();
        loop {
            if let Err(ended) = self.apply_arrived(&mut stream, &mut arrived, position).await {
                return ended;
            }
        }
    }

    /// Opens a watch of the changes after a position, or of all objects and then their changes. The objects and the
    /// changes of one watch belong together: nothing is compacted between them.
    async fn watch(&self, position: Option<Revision>) -> Result<WatchStream, Ended> {
        if position.is_none() {
            self.wait_for_cache().await;
        }
        // As for Kubernetes' reflectors, the state of the watch cache suffices at first: what it lacks follows as changes,
        // and a consistent read would wait for the progress of the store's watch. A later list must not be older than
        // what the handler has seen.
        let any_state = (!*self.synced.borrow()).then_some(0);
        let options = ListOptions {
            resource_version: position.or(any_state),
            send_initial_events: Some(position.is_none()),
            allow_watch_bookmarks: true,
            ..ListOptions::default()
        };
        let watching = self.store.watch(&RequestContext::system(""), &options).await;
        watching.map_err(|failure| Ended::at_start(&failure))
    }

    /// Waits while the resource's watch cache is being filled, so that a large collection is not read from the store
    /// twice at the same time. A cache that cannot be filled does not hold up the informer for longer than
    /// [`CACHE_PATIENCE`].
    async fn wait_for_cache(&self) {
        let until = Instant::now() + CACHE_PATIENCE;
        while Instant::now() < until && self.store.storage().readiness().is_err() {
            tokio::time::sleep(CACHE_CHECK_INTERVAL).await;
        }
    }

    /// Reads the initial objects of a watch, and hands them to the handler. Returns their revision.
    async fn load(&self, stream: &mut WatchStream) -> Result<Revision, Ended> {
        let mut objects = Vec::new();
        let revision = loop {
            match stream.next().await {
                Some(Ok(WatchEvent::Added(object))) => objects.push(object),
                Some(Ok(WatchEvent::Bookmark { revision, initial_events_end: true })) => break revision,
                Some(Ok(WatchEvent::Bookmark { .. })) => {}
                Some(Ok(WatchEvent::Modified(object) | WatchEvent::Deleted(object))) => {
                    let key = &object.key;
                    return Err(Ended::Lost(format!("a change of {key} came before the initial state")));
                }
                Some(Err(error)) => return Err(Ended::from_watch(&error)),
                None => return Err(Ended::closed()),
            }
            if objects.len().is_multiple_of(INITIAL_BATCH) {
                tokio::task::yield_now().await;
            }
        };
        self.replace(objects).await;
        self.handler.publish();
        self.handler.reached(revision);
        self.synced.send_replace(true);
        Ok(revision)
    }

    async fn replace(&self, objects: Vec<StoredObject>) {
        if objects.len() < LARGE_LIST {
            self.handler.replaced(objects);
            return;
        }
        let handler = self.handler.clone();
        let replaced = tokio::task::spawn_blocking(move || handler.replaced(objects)).await;
        if let Err(error) = replaced
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }

    /// Waits for a change, applies it and all that have arrived with it, and publishes them.
    async fn apply_arrived(
        &self,
        stream: &mut WatchStream,
        arrived: &mut Arrived,
        position: &mut Option<Revision>,
    ) -> Result<(), Ended> {
        arrived.next(stream).await;
        let mut changes = self.apply(arrived, position);
        let until = Instant::now() + self.gathering;
        while changes > 0 && changes < MAX_UNPUBLISHED && arrived.may_continue(until) {
            tokio::task::yield_now().await;
            // If the time is over, this still takes what has arrived.
            if tokio::time::timeout_at(until, arrived.next(stream)).await.is_err() {
                break;
            }
            changes += self.apply(arrived, position);
        }
        if changes > 0 {
            self.handler.publish();
        }
        self.handler.reached(position.unwrap_or_default());
        arrived.ended()
    }

    /// Applies events. Returns the number of changes among them.
    fn apply(&self, arrived: &mut Arrived, position: &mut Option<Revision>) -> usize {
        let mut changes = 0;
        for event in arrived.events.drain(..) {
            let revision = event.revision();
            let change = match event {
                WatchEvent::Added(object) => Some(InformerChange::Added(object)),
                WatchEvent::Modified(object) => Some(InformerChange::Modified(object)),
                WatchEvent::Deleted(object) => Some(InformerChange::Deleted(object)),
                WatchEvent::Bookmark { .. } => None,
            };
            if let Some(change) = change {
                self.handler.changed(change);
                changes += 1;
            }
            *position = (*position).max(Some(revision));
        }
        changes
    }
}
