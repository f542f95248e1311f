//! Informers of any handler, as tasks.

use futures::future::BoxFuture;

use crate::api::GroupResource;

use super::synced::Synced;

/// An informer that is ready to run. Components hand theirs to the server, which runs them until it stops, and is not
/// ready before all have their first list.
pub struct InformerTask {
    resource: GroupResource,
    synced: Synced,
    running: BoxFuture<'static, ()>,
}

// === impl InformerTask ===

impl InformerTask {
    pub(super) fn new(
        resource: GroupResource,
        synced: Synced,
        running: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { resource, synced, running: Box::pin(running) }
    }

    /// Returns the resource that the informer follows.
    pub fn resource(&self) -> GroupResource {
        self.resource
    }

    /// Completes when the first list was handled.
    pub fn synced(&self) -> Synced {
        self.synced.clone()
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        self.running.await;
    }
}
