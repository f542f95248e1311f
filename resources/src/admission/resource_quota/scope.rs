//! Scopes of quotas.

use registry_core::api::{GroupResource, Object};
use serde_json::{Value, json};

use super::usage::{CLAIMS, PODS, has_deadline};
use crate::api::core::pods::quality_of_service;

/// Returns the scopes of a quota and the expressions of its scope selector.
pub(super) fn scopes(quota: &Object) -> Vec<Value> {
    let named = quota.get(&["spec", "scopes"]).and_then(Value::as_array).into_iter().flatten();
    let named = named.map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    let selected = quota.get(&["spec", "scopeSelector", "matchExpressions"]).and_then(Value::as_array);
    named.chain(selected.into_iter().flatten().cloned()).collect()
}

/// Whether an object is in all scopes.
pub(super) fn matches(scopes: &[Value], resource: GroupResource, object: &Object) -> bool {
    scopes.iter().all(|requirement| is_in(resource, object, requirement))
}

/// Whether an object is in a scope. Only pods and claims of volumes have scopes.
pub(super) fn is_in(resource: GroupResource, object: &Object, requirement: &Value) -> bool {
    let text = |field: &str| requirement.get(field).and_then(Value::as_str).unwrap_or_default();
    if resource == CLAIMS {
        return text("scopeName") == "VolumeAttributesClass" && has_attributes_class(object, requirement);
    }
    if resource != PODS {
        return false;
    }
    match text("scopeName") {
        "Terminating" => has_deadline(object),
        "NotTerminating" => !has_deadline(object),
        "BestEffort" => quality_of_service(object) == "BestEffort",
        "NotBestEffort" => quality_of_service(object) != "BestEffort",
        "PriorityClass" => {
            let class = object.get_str(&["spec", "priorityClassName"]).filter(|class| !class.is_empty());
            is_selected(class, requirement)
        }
        "CrossNamespacePodAffinity" => looks_elsewhere(object),
        _ => false,
    }
}

/// Returns a requirement as messages show it: `{PriorityClass In [a b]}`.
pub(super) fn shown(requirement: &Value) -> String {
    let text = |field: &str| requirement.get(field).and_then(Value::as_str).unwrap_or_default();
    let values = requirement.get("values").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<&str> = values.filter_map(Value::as_str).collect();
    format!("{{{} {} [{}]}}", text("scopeName"), text("operator"), values.join(" "))
}

/// Whether a claim has, had, or is getting a class that a requirement selects.
fn has_attributes_class(claim: &Object, requirement: &Value) -> bool {
    let classes = [
        &["spec", "volumeAttributesClassName"][..],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    let classes = classes.iter().filter_map(|path| claim.get_str(path)).filter(|class| !class.is_empty());
    let classes: Vec<&str> = classes.collect();
    if classes.is_empty() {
        return is_selected(None, requirement);
    }
    classes.into_iter().any(|class| is_selected(Some(class), requirement))
}

/// Whether a requirement selects a class, or objects without one.
fn is_selected(class: Option<&str>, requirement: &Value) -> bool {
    let values = requirement.get("values").and_then(Value::as_array);
    let listed = || values.is_some_and(|all| all.iter().any(|value| value.as_str() == class));
    match requirement.get("operator").and_then(Value::as_str).unwrap_or_default() {
        "Exists" => class.is_some(),
        "DoesNotExist" => class.is_none(),
        "In" => class.is_some() && listed(),
        "NotIn" => class.is_none() || !listed(),
        _ => false,
    }
}

/// Whether any of the pod's affinity terms names namespaces.
fn looks_elsewhere(pod: &Object) -> bool {
    ["podAffinity", "podAntiAffinity"].iter().any(|affinity| {
        let terms = |field: &str| pod.get(&["spec", "affinity", affinity, field]).and_then(Value::as_array);
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution").into_iter().flatten();
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution").into_iter().flatten();
        required.chain(preferred.filter_map(|term| term.get("podAffinityTerm"))).any(|term| {
            let names =
                term.get("namespaces").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
            names || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
        })
    })
}
