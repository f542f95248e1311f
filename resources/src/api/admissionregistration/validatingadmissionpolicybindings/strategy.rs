//! Rules of ValidatingAdmissionPolicyBindings.

use std::collections::HashSet;
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Features;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicyBindingSpecMut, ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingMut,
};
use resource_views::{List, Text};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{self, ReservedNames};

/// Validation of the policy, the parameters and the matched resources.
#[derive(Clone, Copy)]
pub(super) struct ValidatingBindingStrategy {
    names: ReservedNames,
}

/// The rules with the default features.
#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const ValidatingBindingStrategy: ValidatingBindingStrategy =
    ValidatingBindingStrategy { names: ReservedNames::Warned };

impl ObjectStrategy for ValidatingBindingStrategy {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        Some(Arc::new(Self { names: ReservedNames::for_features(features) }))
    }

    fn apply_defaults(&self, object: &mut Object) {
        let spec = ValidatingAdmissionPolicyBindingMut(object).spec();
        spec.edit(|spec| matching::default_binding(MutatingAdmissionPolicyBindingSpecMut(spec.0)));
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        reserved_names::warnings(object)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        self.names.warnings_on_create(object)
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = check(object);
        self.names.check(object, &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        check(new)
    }
}

fn check(object: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = ValidatingAdmissionPolicyBinding(object).spec();
    matching::check_binding(&spec.into(), &mut errors);
    check_actions(&spec.validation_actions(), &mut errors);
    errors
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
