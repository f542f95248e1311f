//! Rules of MutatingAdmissionPolicyBindings.

use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingMut,
};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};

/// Validation of the policy, the parameters and the matched resources.
pub(super) struct MutatingBindingRules;

/// The rules, and those of names.
pub(super) type MutatingBindingStrategy = ReservingStrategy<MutatingBindingRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const MutatingBindingStrategy: MutatingBindingStrategy = ReservingStrategy::DEFAULT;

impl Rules for MutatingBindingRules {
    fn apply_defaults(object: &mut Object) {
        MutatingAdmissionPolicyBindingMut(object).spec().edit(matching::default_binding);
    }

    fn check(object: &Object, _old: Option<&Object>, _budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = MutatingAdmissionPolicyBinding(object).spec();
        matching::check_binding(&spec, &mut errors);
        matching::check_mutated_operations(&spec.match_resources(), &mut errors);
        errors
    }
}
