//! Rules of ResourceClaimTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::resource::requests;
use crate::support::defaulting;
use crate::support::field::Field;

/// The spec is immutable.
pub(super) struct ResourceClaimTemplateStrategy;

impl ObjectStrategy for ResourceClaimTemplateStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "spec", "devices"], requests::apply_defaults);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        requests::check(&spec.get("spec").get("devices"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "spec").check_immutable(&Field::of(old, "spec"), &mut errors);
        errors
    }
}
