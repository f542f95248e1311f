//! Rules of Leases.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::coordination::election;
use crate::support::field::Field;

/// The duration is positive; transitions are counted.
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

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        drop_election(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        drop_election(new, Some(old));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let duration = spec.get("leaseDurationSeconds");
        if duration.integer().is_some_and(|seconds| seconds <= 0) {
            errors.push(duration.invalid("must be greater than 0"));
        }
        spec.get("leaseTransitions").check_not_negative(&mut errors);
        check_election(&spec, &mut errors);
        errors
    }
}

/// Drops the fields of coordinated elections, which are off, unless they were set before.
fn drop_election(object: &mut Object, old: Option<&Object>) {
    let fields = ["strategy", "preferredHolder"];
    let is_used = old.is_some_and(|old| fields.iter().any(|field| old.get(&["spec", field]).is_some()));
    for field in fields.iter().filter(|_| !is_used) {
        object.remove(&["spec", field]);
    }
}

/// Checks the strategy of the election: one that Kubernetes defines, or one with a domain.
fn check_election(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let strategy = spec.get("strategy");
    let preferred = spec.get("preferredHolder");
    if strategy.exists() {
        election::check_strategy(&strategy, errors);
    }
    if !preferred.text().is_empty() && strategy.text().is_empty() {
        errors.push(preferred.forbidden("may only be specified if `strategy` is defined"));
    }
}
