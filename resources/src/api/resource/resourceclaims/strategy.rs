//! Rules of ResourceClaims.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::resource::v1::{ResourceClaim, ResourceClaimMut};

use crate::api::resource::{allocation, requests};
use crate::support::field::ShownAsGo as _;

/// The spec is immutable, and an allocation while it lasts.
pub(super) struct ResourceClaimStrategy;

impl ObjectStrategy for ResourceClaimStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        ResourceClaimMut(object).spec().edit(|mut spec| spec.devices().edit(requests::apply_defaults));
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        requests::check(&ResourceClaim(object).spec().devices(), &context.budget, &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let before = ResourceClaim(old).spec();
        ResourceClaim(new).spec().check_immutable_as("<resource.ResourceClaimSpec>", &before, &mut errors);
        errors
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        allocation::drop_deallocated_devices(new, old);
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        allocation::check_status(new, old, &mut errors);
        errors
    }
}
