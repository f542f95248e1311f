//! Scopes of quotas.

use registry_core::api::{GroupResource, Object};
use serde_json::{Value, json};

use super::usage::{PODS, has_deadline};
use crate::core::pods::quality_of_service;

/// Returns the scopes of a quota and the expressions of its scope selector.
pub(super) fn of(quota: &Object) -> Vec<Value> {
    let named = quota.get(&["spec", "scopes"]).and_then(Value::as_array).into_iter().flatten();
    let named = named.map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    let selected = quota.get(&["spec", "scopeSelector", "matchExpressions"]).and_then(Value::as_array);
    named.chain(selected.into_iter().flatten().cloned()).collect()
}

/// Whether an object is in all scopes. Only pods have scopes.
pub(super) fn matches(scopes: &[Value], resource: GroupResource, object: &Object) -> bool {
    scopes.iter().all(|requirement| resource == PODS && is_in(object, requirement))
}

fn is_in(pod: &Object, requirement: &Value) -> bool {
    let text = |field: &str| requirement.get(field).and_then(Value::as_str).unwrap_or_default();
    match text("scopeName") {
        "Terminating" => has_deadline(pod),
        "NotTerminating" => !has_deadline(pod),
        "BestEffort" => quality_of_service(pod) == "BestEffort",
        "NotBestEffort" => quality_of_service(pod) != "BestEffort",
        "PriorityClass" => has_class(pod, text("operator"), requirement.get("values")),
        "CrossNamespacePodAffinity" => looks_elsewhere(pod),
        _ => false,
    }
}

fn has_class(pod: &Object, operator: &str, values: Option<&Value>) -> bool {
    let class = pod.get_str(&["spec", "priorityClassName"]).filter(|class| !class.is_empty());
    let listed =
        || values.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one.as_str() == class));
    match operator {
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
