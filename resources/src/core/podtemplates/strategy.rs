//! Rules of PodTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::core::pod_spec::{defaults, validation, warnings};
use crate::support::field::Field;

/// Defaults and validation of the template.
pub(super) struct PodTemplateStrategy;

impl ObjectStrategy for PodTemplateStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply_to_template(object, &["template"]);
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_template(object, &["template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        warnings::of_template(new, &["template"])
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_template(context, &Field::of(object, "template"), None, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let old = Field::of(old, "template");
        validation::check_template(context, &Field::of(new, "template"), Some(&old), &mut errors);
        errors
    }
}
