//! The service that addresses and node ports belong to.

use registry_core::api::Object;
use resource_views::networking::v1::IPAddress;
use serde::{Deserialize, Serialize};

/// The service of the server itself, whose address may be taken over from an earlier attempt.
const OWN_SERVICE: (&str, &str) = ("default", "kubernetes");

/// The service that addresses and node ports belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) namespace: String,
    pub(super) name: String,
}

// === impl Owner ===

impl Owner {
    pub(super) fn from_service(service: &Object) -> Self {
        Self { namespace: service.namespace().to_owned(), name: service.name().to_owned() }
    }

    /// Returns the service that an IPAddress object refers to; `None` if it refers to something else.
    pub(super) fn from_address_object(object: &Object) -> Option<Self> {
        let spec = IPAddress(object).spec();
        let parent = spec.parent_ref();
        let is_service = parent.group().text().is_empty() && parent.resource().text() == "services";
        is_service.then(|| Self {
            namespace: parent.namespace().text().to_owned(),
            name: parent.name().text().to_owned(),
        })
    }

    pub(super) fn is_own_service(&self) -> bool {
        (self.namespace.as_str(), self.name.as_str()) == OWN_SERVICE
    }
}
