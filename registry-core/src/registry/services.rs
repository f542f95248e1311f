//! Services that the server provides to resources.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::GroupResource;
use crate::features::Features;
use crate::resource::ResourceDescription;
use crate::rest::access::{AccessReviewer, NoAccess};
use crate::rest::components::{ComponentProbe, NoComponents};
use crate::rest::tokens::{NoTokens, TokenIssuer};
use crate::rest::webhook::{NoWebhooks, WebhookCaller};
use parking_lot::RwLock;

use super::store::Store;

/// Services that the server provides to virtual resources and subresources.
#[derive(Clone)]
pub struct Services {
    /// Authentication and authorisation reviews.
    pub access: Arc<dyn AccessReviewer>,
    /// Issues the tokens of service accounts.
    pub tokens: Arc<dyn TokenIssuer>,
    /// Reports the health of other control plane components.
    pub components: Arc<dyn ComponentProbe>,
    /// Calls webhooks.
    pub webhooks: Arc<dyn WebhookCaller>,
    /// Types of node addresses, in order of preference for reaching the kubelet. (`--kubelet-preferred-address-types`.)
    pub kubelet_address_types: Arc<[String]>,
    /// The enabled features.
    pub features: Features,
    /// The stores of other resources.
    pub stores: Stores,
}

/// The stores of one server, for rules that involve several resources: an eviction of a pod reads disruption budgets.
/// Filled while the storage map is installed, so it is complete when requests are served.
#[derive(Clone, Default)]
pub struct Stores(Arc<RwLock<HashMap<GroupResource, Arc<Store>>>>);

// === impl Services ===

impl Default for Services {
    /// Services without a server: no users are known, no tokens are signed, and no webhooks are called.
    fn default() -> Self {
        Self {
            access: Arc::new(NoAccess),
            tokens: Arc::new(NoTokens),
            components: Arc::new(NoComponents),
            webhooks: Arc::new(NoWebhooks),
            kubelet_address_types: Arc::new([]),
            features: Features::default(),
            stores: Stores::default(),
        }
    }
}

// === impl Stores ===

impl Stores {
    /// Returns the store of a resource; `None` if it is not served.
    pub fn get(&self, resource: &ResourceDescription) -> Option<Arc<Store>> {
        let stores = self.0.read();
        stores.get(&resource.group_resource()).cloned()
    }

    /// Registers a store.
    pub(super) fn insert(&self, store: &Arc<Store>) {
        let mut stores = self.0.write();
        stores.entry(store.resource().group_resource()).or_insert_with(|| store.clone());
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stores")
    }
}
