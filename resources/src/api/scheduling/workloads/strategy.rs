//! Rules of Workloads.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::api::scheduling::pod_group;
use crate::support::field::Field;

/// Maximum number of templates.
const MAX_TEMPLATES: usize = 8;

/// The spec is immutable.
pub(super) struct WorkloadStrategy;

impl ObjectStrategy for WorkloadStrategy {
    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        drop_disabled_fields(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        drop_disabled_fields(new, Some(old));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::top_level(object, "spec");
        let controller = spec.get("controllerRef");
        if controller.exists() {
            controller.get("apiGroup").check_if_set(names::dns_subdomain, &mut errors);
            controller.get("kind").check_named(names::path_segment, &mut errors);
            controller.get("name").check_named(names::path_segment, &mut errors);
        }
        check_templates(&spec.get("podGroupTemplates"), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::top_level(new, "spec");
        let before = Field::top_level(old, "spec");
        for field in ["controllerRef", "podGroupTemplates"] {
            pod_group::check_immutable(&spec.get(field), &before.get(field), &mut errors);
        }
        errors
    }
}

/// Drops the fields of features that are off, in templates that did not use them before.
fn drop_disabled_fields(object: &mut Object, old: Option<&Object>) {
    let path = ["spec", "podGroupTemplates"];
    let known = old.and_then(|old| old.get(&path)).and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Array(mut templates)) = object.remove(&path) else { return };
    for (index, template) in templates.iter_mut().enumerate() {
        if let Value::Object(template) = template {
            pod_group::drop_disabled_fields(template, known.get(index));
        }
    }
    object.set(&path, templates.into());
}

fn check_templates(templates: &Field<'_, '_>, errors: &mut ErrorList) {
    if templates.is_empty() {
        errors.push(templates.required(""));
        return;
    }
    if !templates.check_count(MAX_TEMPLATES, errors) {
        return;
    }
    templates.check_unique(
        |template| template.get("name").text().to_owned(),
        |field| field.duplicate(),
        errors,
    );
    for template in templates.elements() {
        template.get("name").check_named(names::dns_label, errors);
        pod_group::check_policy(&template.get("schedulingPolicy"), errors);
    }
}
