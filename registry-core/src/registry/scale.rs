//! The `scale` subresource: an object's replica count as `autoscaling/v1 Scale`.

use std::sync::Arc;

use super::store::Store;

/// The `scale` subresource of a store.
pub struct ScaleStore {
    parent: Arc<Store>,
}

impl ScaleStore {
    /// The `scale` subresource of this store.
    pub fn new(parent: Arc<Store>) -> Arc<Self> {
        Arc::new(Self { parent })
    }

    /// The store below.
    pub fn parent(&self) -> &Arc<Store> {
        &self.parent
    }
}
