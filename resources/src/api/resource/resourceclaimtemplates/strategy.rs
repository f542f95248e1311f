//! Rules of ResourceClaimTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::resource::v1::{ResourceClaimTemplate, ResourceClaimTemplateMut};

use crate::api::core::pod_spec::validation;
use crate::api::resource::requests;
use crate::support::field::ShownAsGo as _;

/// The spec is immutable.
pub(super) struct ResourceClaimTemplateStrategy;

impl ObjectStrategy for ResourceClaimTemplateStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        ResourceClaimTemplateMut(object).spec().edit(|mut template| {
            template.spec().edit(|mut spec| spec.devices().edit(requests::apply_defaults));
        });
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let spec = ResourceClaimTemplate(object).spec();
        let mut errors = ErrorList::default();
        validation::check_claim_metadata(&spec.metadata(), &mut errors);
        requests::check(&spec.spec().devices(), &context.budget, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let before = ResourceClaimTemplate(old).spec();
        let spec = ResourceClaimTemplate(new).spec();
        spec.check_immutable_as("<resource.ResourceClaimTemplateSpec>", &before, &mut errors);
        errors
    }
}
