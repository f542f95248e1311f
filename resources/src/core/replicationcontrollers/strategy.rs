//! Rules of ReplicationControllers.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, PropagationPolicy};
use registry_core::resource::ObjectStrategy;

use crate::apps::workload::{self, Workload};
use crate::core::pod_spec::{defaults, warnings};
use crate::support::defaulting::{fill_at, is_empty_at};
use crate::support::field::Field;

const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];

/// Defaults and validation; pods are orphaned on deletion by default.
pub(super) struct ReplicationControllerStrategy;

impl ObjectStrategy for ReplicationControllerStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        if let Some(labels) = object.get(&TEMPLATE_LABELS).cloned()
            && !is_empty_at(object, &TEMPLATE_LABELS)
        {
            for path in [["spec", "selector"], ["metadata", "labels"]] {
                if is_empty_at(object, &path) {
                    object.set(&path, labels.clone());
                }
            }
        }
        fill_at(object, &["spec", "replicas"], 1);
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        errors_of(context, new, Some(old))
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_new_workload(object, &["spec", "template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        // Kubernetes warns of the template before the change.
        if new.generation() == old.generation() {
            return Vec::new();
        }
        warnings::of_template(old, &["spec", "template"])
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        workload::check_status(new, &counts, &[], "readyReplicas", &mut errors);
        errors
    }

    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Orphan
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::of(object, "spec");
    spec.get("minReadySeconds").check_not_negative(&mut errors);
    let selector = spec.get("selector");
    let template = spec.get("template");
    if selector.is_empty() {
        errors.push(selector.required(""));
    }
    spec.get("replicas").check_not_negative(&mut errors);
    if !template.exists() {
        errors.push(template.required(""));
        return errors;
    }
    let metadata = template.get("metadata");
    let labels = metadata.get("labels");
    if selector.entries().any(|(key, value)| labels.get(key).value() != value.value()) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    let old = old.map(|old| Field::of(old, "spec"));
    let old = old.as_ref().map(|old| old.get("template"));
    let workload = Workload::REPLICATION_CONTROLLER;
    workload::check_template(context, &template, old.as_ref(), workload, &mut errors);
    errors
}
