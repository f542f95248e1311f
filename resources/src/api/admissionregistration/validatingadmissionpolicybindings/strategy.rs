//! Rules of ValidatingAdmissionPolicyBindings.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicyBindingSpecMut, ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingMut,
};
use resource_views::{List, Text};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};

/// Validation of the policy, the parameters and the matched resources.
pub(super) struct ValidatingBindingRules;

/// The rules, and those of names.
pub(super) type ValidatingBindingStrategy = ReservingStrategy<ValidatingBindingRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const ValidatingBindingStrategy: ValidatingBindingStrategy = ReservingStrategy::DEFAULT;

impl Rules for ValidatingBindingRules {
    fn apply_defaults(object: &mut Object) {
        let spec = ValidatingAdmissionPolicyBindingMut(object).spec();
        spec.edit(|spec| matching::default_binding(MutatingAdmissionPolicyBindingSpecMut(spec.0)));
    }

    fn check(object: &Object, _old: Option<&Object>, _budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = ValidatingAdmissionPolicyBinding(object).spec();
        matching::check_binding(&spec.into(), &mut errors);
        check_actions(&spec.validation_actions(), &mut errors);
        errors
    }
}

fn check_actions(actions: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for action in actions.elements() {
        action.check_one_of(&["Audit", "Deny", "Warn"], errors);
        if !seen.insert(action.text()) {
            errors.push(action.duplicate());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        errors.push(actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
             and headers serves no purpose)",
        ));
    }
    if seen.is_empty() {
        errors.push(actions.required("at least one validation action is required"));
    }
}
