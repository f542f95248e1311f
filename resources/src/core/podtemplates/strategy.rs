//! Rules of PodTemplates.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::apps::workload;
use crate::core::pod_spec::{defaults, warnings};
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
        workload::check_any_template(context, &Field::of(object, "template"), &mut errors);
        errors
    }
}
