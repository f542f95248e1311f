//! Rules of ResourceClaimTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::api::core::pod_spec::validation;
use crate::api::resource::requests;
use crate::support::defaulting;
use crate::support::field::{Field, ShownAsGo as _};

/// The spec is immutable.
pub(super) struct ResourceClaimTemplateStrategy;

impl ObjectStrategy for ResourceClaimTemplateStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "spec", "devices"], requests::apply_defaults);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let spec = Field::top_level(object, "spec");
        let mut errors = ErrorList::default();
        validation::check_claim_metadata(&spec.get("metadata").view(), &mut errors);
        requests::check(&spec.get("spec").get("devices"), &context.budget, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let before = Field::top_level(old, "spec");
        let spec = Field::top_level(new, "spec");
        spec.check_immutable_as("<resource.ResourceClaimTemplateSpec>", &before, &mut errors);
        errors
    }
}
