//! Rules of PodTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::core::v1::{PodTemplate, PodTemplateMut};

use crate::api::core::pod_spec::{defaults, gated, validation, warnings};

/// Defaults and validation of the template.
pub(super) struct PodTemplateStrategy;

impl ObjectStrategy for PodTemplateStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        gated::spec("template.spec")
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply_to_template(PodTemplateMut(object).template());
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::template_warnings(&PodTemplate(object).template())
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_template(context, &PodTemplate(object).template(), None, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let old = PodTemplate(old).template();
        validation::check_template(context, &PodTemplate(new).template(), Some(&old), &mut errors);
        errors
    }
}
