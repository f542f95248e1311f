//! Whether kube-controller-manager is running, which does the same work.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use registry_core::registry::{Informer, InformerChange, InformerHandler, InformerTask, Store, Synced};
use registry_core::storage::StoredObject;
use serde_json::Value;
use tokio::sync::watch;

use crate::admission::held_until;

/// The end of the key of kube-controller-manager's Lease.
const KEY: &str = "/kube-system/kube-controller-manager";

/// Follows the Lease that kube-controller-manager holds.
pub(super) struct ManagerLease {
    /// The time until which the Lease is held, unless it is renewed; `None` if it is not held.
    held_until: watch::Sender<Option<Timestamp>>,
    synced: Synced,
}

struct LeaseHandler {
    held_until: watch::Sender<Option<Timestamp>>,
    seen: Mutex<Option<Timestamp>>,
}

// === impl ManagerLease ===

impl ManagerLease {
    /// Creates it, and the informer that it needs.
    pub(super) fn new(leases: Arc<Store>) -> (Self, InformerTask) {
        let held_until = watch::Sender::new(None);
        let handler = LeaseHandler { held_until: held_until.clone(), seen: Mutex::default() };
        let task = Informer::new(leases, Arc::new(handler)).into_task();
        (Self { held_until, synced: task.synced() }, task)
    }

    /// Waits until the Lease is not held by anyone.
    pub(super) async fn free(&self) {
        self.synced.wait().await;
        let mut changes = self.held_until.subscribe();
        loop {
            let until = *changes.borrow_and_update();
            let Some(left) = until.and_then(time_left) else { return };
            // Renewed, given up, or expired. The sender lives as long as this borrow.
            let _ = tokio::time::timeout(left, changes.changed()).await;
        }
    }

    /// Waits until the Lease is held.
    pub(super) async fn held(&self) {
        let mut changes = self.held_until.subscribe();
        // The sender lives as long as this borrow.
        let _ = changes.wait_for(|until| until.and_then(time_left).is_some()).await;
    }
}

/// Returns the time until a moment; `None` if it has passed.
fn time_left(until: Timestamp) -> Option<Duration> {
    Duration::try_from(until.duration_since(Timestamp::now())).ok().filter(|left| !left.is_zero())
}

// === impl LeaseHandler ===

impl LeaseHandler {
    fn see(&self, lease: Option<&StoredObject>) {
        let lease = lease.and_then(|lease| serde_json::from_slice::<Value>(lease.json()).ok());
        let until = lease.as_ref().and_then(held_until);
        *self.seen.lock() = until;
    }
}

impl InformerHandler for LeaseHandler {
    fn replaced(&self, objects: Vec<StoredObject>) {
        self.see(objects.iter().find(|object| object.key.ends_with(KEY)));
    }

    fn changed(&self, change: InformerChange) {
        if !change.object().key.ends_with(KEY) {
            return;
        }
        match &change {
            InformerChange::Added(lease) | InformerChange::Modified(lease) => self.see(Some(lease)),
            InformerChange::Deleted(_) => self.see(None),
        }
    }

    fn publish(&self) {
        let seen = *self.seen.lock();
        self.held_until.send_if_modified(|until| std::mem::replace(until, seen) != seen);
    }
}
