//! Informers: compiled forms of a resource's objects that follow every change.
//!
//! An [`Informer`] lists a resource, then watches it, and hands both to its [`InformerHandler`], which keeps whatever it
//! makes of the objects: decoded, compiled, indexed. Each object is read once per change, instead of once per request.
//! The objects come from the watch cache, as the bytes that it holds anyway.
//!
//! | part | purpose |
//! |---|---|
//! | [`Informer`] | follows a store by a [`Reflector`], which lists, watches, and tries again |
//! | [`Compiled`] | the handler for most uses: objects by namespace and name, each made by one function |
//! | [`Synced`] | whether the first list was handled, for readiness |
//! | [`InformerTask`] | an informer without its handler's type, for the server, which runs them |
//!
//! The handler sees a consistent state: all objects at one revision, then every later change exactly once and in order.
//! When changes may have been missed, all objects are listed again.
//!
//! Kubernetes concept: `SharedInformer` of `k8s.io/client-go/tools/cache`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::reflector::{Change, Reflector};
use crate::storage::{Revision, StoredObject};

use super::store::Store;

mod compiled;
mod delivery;
mod source;
mod synced;
mod task;

#[cfg(test)]
mod tests;

pub use compiled::{Compiled, Snapshot};
use delivery::Delivery;
use source::StoreSource;
pub use synced::Synced;
pub use task::InformerTask;

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

    /// Called when the last published snapshot contains every change to this resource up to a revision. Also called
    /// when other resources have advanced the revision.
    fn reached(&self, _revision: Revision) {}
}

/// One change of an object.
pub type InformerChange = Change<StoredObject>;

/// Lists and watches one resource for a handler.
pub struct Informer<H> {
    store: Arc<Store>,
    handler: Arc<H>,
    gathering: Duration,
    synced: watch::Sender<bool>,
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
        let source = StoreSource::new(&self.store, &self.synced);
        let delivery = Delivery::new(&self.store, &self.handler, &self.synced);
        Reflector::new(source, delivery).gathering(self.gathering).run().await;
    }
}
