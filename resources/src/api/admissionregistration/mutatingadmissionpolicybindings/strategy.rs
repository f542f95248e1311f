//! Rules of MutatingAdmissionPolicyBindings.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingMut,
};

use crate::api::admissionregistration::matching;

/// Validation of the policy, the parameters and the matched resources.
pub(super) struct MutatingBindingStrategy;

impl ObjectStrategy for MutatingBindingStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        MutatingAdmissionPolicyBindingMut(object).spec().edit(matching::default_binding);
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        matching::warnings_of_name(object)
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = MutatingAdmissionPolicyBinding(object).spec();
        matching::check_binding(&spec, &mut errors);
        matching::check_mutated_operations(&spec.match_resources(), &mut errors);
        errors
    }
}
