//! Rules of MutatingAdmissionPolicyBindings.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Features;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingMut,
};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{self, ReservedNames};

/// Validation of the policy, the parameters and the matched resources.
#[derive(Clone, Copy)]
pub(super) struct MutatingBindingStrategy {
    names: ReservedNames,
}

/// The rules with the default features.
#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const MutatingBindingStrategy: MutatingBindingStrategy =
    MutatingBindingStrategy { names: ReservedNames::Warned };

impl ObjectStrategy for MutatingBindingStrategy {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        Some(Arc::new(Self { names: ReservedNames::for_features(features) }))
    }

    fn apply_defaults(&self, object: &mut Object) {
        MutatingAdmissionPolicyBindingMut(object).spec().edit(matching::default_binding);
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
    let spec = MutatingAdmissionPolicyBinding(object).spec();
    matching::check_binding(&spec, &mut errors);
    matching::check_mutated_operations(&spec.match_resources(), &mut errors);
    errors
}
