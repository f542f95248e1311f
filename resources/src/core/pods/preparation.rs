//! The fields that the server adds to new pods, and drops from them.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, time};
use serde_json::{Map, Value, json};

use super::quality::quality_of_service;
use crate::core::pod_spec::validation::annotations::{self, APPARMOR};
use crate::core::pod_spec::validation::security_context::check_apparmor;
use crate::support::defaulting::{Fields, each, with};
use crate::support::field::Field;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Sets the status of a new pod, and the fields that follow from others.
pub(super) fn prepare(context: &RequestContext, pod: &mut Object) {
    let class = quality_of_service(pod);
    pod.set(&["status"], json!({"phase": "Pending", "qosClass": class}));
    let gates = pod.get(&["spec", "schedulingGates"]).and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        pod.set(&["status", "conditions"], json!([scheduling_gated()]));
    }
    merge_label_keys(pod);
    copy_apparmor_annotations(context, pod);
}

/// Returns the condition of a pod with scheduling gates.
fn scheduling_gated() -> Value {
    json!({
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
        "lastTransitionTime": time::now(), "message": "Scheduling is blocked due to non-empty scheduling gates",
    })
}

// === label keys ===

/// Adds the requirements of `matchLabelKeys` and `mismatchLabelKeys`, with the values that the pod has, to the selectors
/// beside them.
fn merge_label_keys(pod: &mut Object) {
    let is_used =
        ["affinity", "topologySpreadConstraints"].iter().any(|field| pod.get(&["spec", field]).is_some());
    if !is_used {
        return;
    }
    let labels: Map<String, Value> =
        pod.get(&["metadata", "labels"]).and_then(Value::as_object).cloned().unwrap_or_default();
    with(&mut pod.0, "spec", |spec| {
        with(spec, "affinity", |affinity| {
            for kind in ["podAffinity", "podAntiAffinity"] {
                with(affinity, kind, |affinity| {
                    each(affinity, &[PREFERRED], |weighted| {
                        with(weighted, "podAffinityTerm", |term| merge_into(term, &labels));
                    });
                    each(affinity, &[REQUIRED], |term| merge_into(term, &labels));
                });
            }
        });
        each(spec, &["topologySpreadConstraints"], |constraint| merge_into(constraint, &labels));
    });
}

fn merge_into(term: &mut Fields, labels: &Map<String, Value>) {
    let mut added = Vec::new();
    for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term.get(keys).and_then(Value::as_array).into_iter().flatten();
        for key in keys.filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    // Without a selector, the term selects nothing anyway.
    let Some(Value::Object(selector)) = term.get_mut("labelSelector") else { return };
    if added.is_empty() {
        return;
    }
    match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        Some(expressions) => expressions.append(&mut added),
        None => {
            selector.insert("matchExpressions".to_owned(), added.into());
        }
    }
}

// === AppArmor ===

/// Sets the AppArmor profiles of containers that only have the annotation that precedes the field, and warns about it.
fn copy_apparmor_annotations(context: &RequestContext, pod: &mut Object) {
    let is_windows = pod.get_str(&["spec", "os", "name"]) == Some("windows");
    if is_windows || !pod.annotations().any(|(key, _)| key.starts_with(APPARMOR)) {
        return;
    }
    let of_pod = pod.get(&["spec", "securityContext", "appArmorProfile"]).cloned();
    let annotations: Map<String, Value> =
        pod.get(&["metadata", "annotations"]).and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(Value::Object(spec)) = pod.0.get_mut("spec") else { return };
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let key = format!("{APPARMOR}{name}");
            let Some(annotation) = annotations.get(&key).and_then(Value::as_str) else { continue };
            if container.get("securityContext").and_then(|context| context.get("appArmorProfile")).is_some() {
                continue;
            }
            let profile = profile_of_annotation(annotation);
            let is_told_by_pod = profile.is_some() && profile == of_pod;
            if let Some(profile) = profile.filter(|profile| Some(profile) != of_pod.as_ref()) {
                let context = container.entry("securityContext").or_insert_with(|| json!({}));
                if let Some(context) = context.as_object_mut() {
                    context.insert("appArmorProfile".to_owned(), profile);
                }
            }
            if !is_told_by_pod {
                let warning = format!(
                    "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
                );
                context.warn(warning);
            }
        }
    }
}

/// Returns the profile that an annotation names, if it is valid.
fn profile_of_annotation(annotation: &str) -> Option<Value> {
    let profile = annotations::profile_of(annotation)?;
    let holder = Object::from_value(json!({"profile": profile})).ok()?;
    let mut errors = ErrorList::default();
    check_apparmor(&Field::of(&holder, "profile"), &mut errors);
    errors.is_empty().then_some(profile)
}
