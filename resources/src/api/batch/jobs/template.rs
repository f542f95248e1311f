//! Changes of the template of a job's pods, which are possible while the job is suspended.

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldPath};
use resource_views::batch::v1::Job;
use serde_json::{Map, Value};

use crate::support::field::ShownAsGo as _;
use crate::support::go_text;
use crate::support::semantic;

const NODE_AFFINITY: &str = "nodeAffinity";

/// Checks that the template is the same, apart from what a suspended job may change.
pub(super) fn check_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let spec = Job(new).spec();
    let template = spec.template();
    let Some(before) = old.get(&["spec", "template"]) else { return };
    let is_suspended = old.get(&["spec", "suspend"]) == Some(&Value::Bool(true));
    if !is_suspended || !is_mutable(old) {
        if !semantic::equal(template.value(), Some(before)) {
            errors.push(template.invalid_as("<core.PodTemplateSpec>", "field is immutable"));
        }
        return;
    }
    let empty = Value::Object(Map::new());
    let mut expected = before.clone();
    let after = template.value().unwrap_or(&empty);
    take_scheduling(&mut expected, after);
    take_resources(&mut expected, after);
    let after_spec = after.get("spec");
    if !semantic::equal(after_spec, expected.get("spec")) {
        // The path is one name with a dot.
        let path = FieldPath::new("spec").child("template.spec");
        let shown = go_text::text(after_spec, "<core.PodSpec>");
        let error = registry_core::api::FieldError::invalid(path, Value::Null, "field is immutable");
        errors.push(error.shown_as(shown));
    }
}

/// Whether no pod of a suspended job exists.
fn is_mutable(job: &Object) -> bool {
    let conditions = job.get(&["status", "conditions"]).and_then(Value::as_array).into_iter().flatten();
    let is_set = |condition: &Value| {
        condition.get("type").and_then(Value::as_str) == Some("Suspended")
            && condition.get("status").and_then(Value::as_str) == Some("True")
    };
    let started = job.get(&["status", "startTime"]).is_some();
    (!started || conditions.into_iter().any(is_set))
        && job.get_i64(&["status", "active"]).unwrap_or_default() == 0
}

/// Takes the directives for the scheduler from another template.
fn take_scheduling(template: &mut Value, from: &Value) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let other = from.get("spec");
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        match other.and_then(|other| other.get(field)) {
            Some(value) => spec.insert(field.to_owned(), value.clone()),
            None => spec.remove(field),
        };
    }
    let theirs = other.and_then(|other| other.get("affinity"));
    let wanted = theirs.and_then(|affinity| affinity.get(NODE_AFFINITY)).cloned();
    let mut affinity = spec.get("affinity").and_then(Value::as_object).cloned().unwrap_or_default();
    match wanted {
        Some(wanted) => affinity.insert(NODE_AFFINITY.to_owned(), wanted),
        None => affinity.remove(NODE_AFFINITY),
    };
    if affinity.is_empty() && theirs.is_none() {
        spec.remove("affinity");
    } else {
        spec.insert("affinity".to_owned(), Value::Object(affinity));
    }
}

/// Takes the resources of containers with the same names at the same places from another template.
fn take_resources(template: &mut Value, from: &Value) {
    for list in ["containers", "initContainers"] {
        let path = format!("/spec/{list}");
        let theirs = from.pointer(&path).and_then(Value::as_array);
        let ours = template.pointer_mut(&path).and_then(Value::as_array_mut);
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        if ours.len() != theirs.len() {
            continue;
        }
        for (own, their) in
            ours.iter_mut().zip(theirs).filter(|(own, their)| own.get("name") == their.get("name"))
        {
            let Some(own) = own.as_object_mut() else { continue };
            match their.get("resources") {
                Some(resources) => own.insert("resources".to_owned(), resources.clone()),
                None => own.remove("resources"),
            };
        }
    }
}
