//! Rules of Leases.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::field::Field;

/// A lease lasts some time; its holders are counted.
pub(super) struct LeaseStrategy;

impl ObjectStrategy for LeaseStrategy {
    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let duration = spec.get("leaseDurationSeconds");
        if duration.integer().is_some_and(|seconds| seconds <= 0) {
            errors.push(duration.invalid("must be greater than 0"));
        }
        spec.get("leaseTransitions").check_not_negative(&mut errors);
        errors
    }
}
