//! The calls of an informer's handler.

use std::sync::Arc;

use tokio::sync::watch;

use crate::notice::Notice;
use crate::reflector::{Ended, Sink};
use crate::registry::store::Store;
use crate::storage::{Revision, StoredObject};

use super::source::FollowError;
use super::{InformerChange, InformerHandler};

/// Number of objects from which a list is handled on a thread where it delays no request.
const LARGE_LIST: usize = 500;

/// Number of failures in a row from which they are reported.
const REPORTED: u32 = 3;

/// Delivers the objects of a store to a handler.
pub(super) struct Delivery<'a, H> {
    store: &'a Store,
    handler: &'a Arc<H>,
    synced: &'a watch::Sender<bool>,
    persistent: Notice,
}

// === impl Delivery ===

impl<'a, H: InformerHandler> Delivery<'a, H> {
    pub(super) fn new(store: &'a Store, handler: &'a Arc<H>, synced: &'a watch::Sender<bool>) -> Self {
        Self { store, handler, synced, persistent: Notice::default() }
    }
}

impl<H: InformerHandler> Sink<StoredObject, FollowError> for Delivery<'_, H> {
    async fn replaced(&mut self, objects: Vec<StoredObject>) {
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

    fn changed(&mut self, change: InformerChange) {
        self.handler.changed(change);
    }

    fn reached(&mut self, revision: Revision, is_changed: bool) {
        if is_changed {
            self.handler.publish();
        }
        self.handler.reached(revision);
        self.synced.send_if_modified(|synced| !std::mem::replace(synced, true));
    }

    fn failed(&mut self, ended: &Ended<FollowError>, in_a_row: u32) {
        let resource = self.store.resource().group_resource();
        tracing::debug!(%resource, "an informer's watch has ended: {ended}");
        if in_a_row >= REPORTED {
            self.persistent.log(|times| {
                tracing::warn!(%resource, times, "cannot follow the changes, trying again: {ended}");
            });
        }
    }
}
