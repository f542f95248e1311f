//! The generic store: create, read, update, delete, list and watch of any resource.

use std::sync::Arc;

use crate::resource::ResourceType;
use crate::storage::Interface;

/// The store of one resource.
pub struct Store {
    resource: &'static ResourceType,
    storage: Arc<dyn Interface>,
}

impl Store {
    /// A store of this resource's objects below `prefix` (`/registry`).
    pub fn new(resource: &'static ResourceType, storage: Arc<dyn Interface>, _prefix: &str) -> Arc<Self> {
        Arc::new(Self { resource, storage })
    }

    /// The resource.
    pub fn resource(&self) -> &'static ResourceType {
        self.resource
    }

    /// The storage below.
    pub fn storage(&self) -> &Arc<dyn Interface> {
        &self.storage
    }
}
