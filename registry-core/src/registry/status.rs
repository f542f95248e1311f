//! The `status` subresource: the same object, of which only the status changes.

use std::sync::Arc;

use super::store::Store;

/// The `status` subresource of a store.
pub struct StatusStore {
    parent: Arc<Store>,
}

impl StatusStore {
    /// The `status` subresource of this store.
    pub fn new(parent: Arc<Store>) -> Arc<Self> {
        Arc::new(Self { parent })
    }

    /// The store below.
    pub fn parent(&self) -> &Arc<Store> {
        &self.parent
    }
}
