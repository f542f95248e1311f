//! What resources may ask of the server they are in, and of one another.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::api::GroupResource;
use crate::resource::ResourceDescription;
use crate::rest::access::{AccessReviewer, NoAccess};
use crate::rest::components::{ComponentProbe, NoComponents};
use crate::rest::tokens::{NoTokens, TokenIssuer};

use super::store::Store;

/// What virtual resources and subresources may ask of the server.
#[derive(Clone)]
pub struct Services {
    /// Who somebody is, and what they may do.
    pub access: Arc<dyn AccessReviewer>,
    /// Who signs the tokens of service accounts.
    pub tokens: Arc<dyn TokenIssuer>,
    /// How the other parts of the control plane are.
    pub components: Arc<dyn ComponentProbe>,
    /// The types of a node's addresses, the one by which its kubelet is reached best first.
    /// (`--kubelet-preferred-address-types`.)
    pub kubelet_address_types: Arc<[String]>,
    /// The stores of other resources.
    pub stores: Stores,
}

/// The stores of one server, for those whose rules are about several resources: an eviction of a pod looks at
/// disruption budgets. Filled while the storage map is installed, so what is asked at a request is all there.
#[derive(Clone, Default)]
pub struct Stores(Arc<RwLock<HashMap<GroupResource, Arc<Store>>>>);

// === impl Services ===

impl Default for Services {
    /// There is no server: nobody is known, nothing is signed.
    fn default() -> Self {
        Self {
            access: Arc::new(NoAccess),
            tokens: Arc::new(NoTokens),
            components: Arc::new(NoComponents),
            kubelet_address_types: Arc::new([]),
            stores: Stores::default(),
        }
    }
}

// === impl Stores ===

impl Stores {
    /// The store of a resource; `None` when it is not served.
    pub fn get(&self, resource: &ResourceDescription) -> Option<Arc<Store>> {
        let stores = self.0.read().unwrap_or_else(PoisonError::into_inner);
        stores.get(&resource.group_resource()).cloned()
    }

    /// Makes a store known.
    pub(super) fn insert(&self, store: &Arc<Store>) {
        let mut stores = self.0.write().unwrap_or_else(PoisonError::into_inner);
        stores.entry(store.resource().group_resource()).or_insert_with(|| store.clone());
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stores")
    }
}
