//! Rules of ValidatingAdmissionPolicyBindings.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::admissionregistration::matching;
use crate::support::defaulting;
use crate::support::field::Field;

/// Validation of the policy, the parameters and the matched resources.
pub(super) struct ValidatingBindingStrategy;

impl ObjectStrategy for ValidatingBindingStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "matchResources"], matching::default_constraints);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        matching::check_binding(&spec, &mut errors);
        if spec.get("validationActions").is_empty() {
            errors.push(spec.get("validationActions").required(""));
        }
        for action in spec.get("validationActions").elements() {
            action.check_one_of(&["Audit", "Deny", "Warn"], &mut errors);
        }
        errors
    }
}
