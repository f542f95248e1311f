//! Rules of ValidatingAdmissionPolicies.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::admissionregistration::matching;
use crate::support::defaulting;
use crate::support::field::Field;

/// Defaults and validation of validations.
pub(super) struct ValidatingPolicyStrategy;

impl ObjectStrategy for ValidatingPolicyStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"]]
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with(&mut object.0, "spec", |spec| {
            defaulting::fill(spec, "failurePolicy", "Fail");
            defaulting::with(spec, "matchConstraints", matching::default_constraints);
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        matching::check_policy(&spec, &mut errors);
        let validations = spec.get("validations");
        let audits = spec.get("auditAnnotations");
        if validations.len() + audits.len() == 0 {
            errors.push(validations.required("validations or auditAnnotations must be specified"));
            errors.push(audits.required("validations or auditAnnotations must be specified"));
        }
        for validation in validations.elements() {
            if validation.get("expression").text().trim().is_empty() {
                errors.push(validation.get("expression").required("expression is not specified"));
            }
            if validation.get("message").text().contains('\n') {
                errors.push(validation.get("message").invalid("must not contain line breaks"));
            }
        }
        errors
    }
}
