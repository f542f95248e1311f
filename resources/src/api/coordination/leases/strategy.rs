//! Rules of Leases.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::coordination::v1::{Lease, LeaseSpec};

use crate::api::coordination::election;

/// The duration is positive; transitions are counted.
pub(super) struct LeaseStrategy;

impl ObjectStrategy for LeaseStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        ["spec.strategy", "spec.preferredHolder"]
            .map(|path| GatedField::new(Feature::CoordinatedLeaderElection, path))
            .into()
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Lease(object).spec();
        let duration = spec.lease_duration_seconds();
        if duration.integer().is_some_and(|seconds| seconds <= 0) {
            errors.push(duration.invalid("must be greater than 0"));
        }
        spec.lease_transitions().check_not_negative(&mut errors);
        check_election(&spec, &mut errors);
        errors
    }
}

/// Checks the strategy of the election: one that Kubernetes defines, or one with a domain.
fn check_election(spec: &LeaseSpec<'_, '_>, errors: &mut ErrorList) {
    let strategy = spec.strategy();
    let preferred = spec.preferred_holder();
    if strategy.exists() {
        election::check_strategy(&strategy, errors);
    }
    if !preferred.text().is_empty() && strategy.text().is_empty() {
        errors.push(preferred.forbidden("may only be specified if `strategy` is defined"));
    }
}
