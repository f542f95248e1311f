//! Rules of pods.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{DeleteOptions, FieldError, FieldPath, Object, time};
use registry_core::resource::{Deletion, ObjectStrategy};
use serde_json::{Map, Value, json};

use crate::core::pod_spec::{defaults, validation, warnings};
use crate::support::field::Field;

/// The fields of a pod's spec that may change, in a message.
const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Defaults, validation, quality of service, graceful deletion.
pub(super) struct PodStrategy;

impl ObjectStrategy for PodStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply_to_pod(object);
        // If both fields are set, the older one, with a single address, takes precedence.
        let address = object.get_str(&["status", "podIP"]).filter(|address| !address.is_empty());
        if let Some(address) = address {
            let first = object.get(&["status", "podIPs"]).and_then(|all| all.get(0)?.get("ip"));
            if first.and_then(Value::as_str) != Some(address) {
                let only = json!([{"ip": address}]);
                object.set(&["status", "podIPs"], only);
            }
        }
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        let class = quality_of_service(object);
        object.set(&["status"], json!({"phase": "Pending", "qosClass": class}));
        if object
            .get(&["spec", "schedulingGates"])
            .and_then(Value::as_array)
            .is_some_and(|gates| !gates.is_empty())
        {
            object.set(&["status", "conditions"], json!([scheduling_gated()]));
        }
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let spec = Field::of(object, "spec");
        let mut errors = validation::validate(context, &spec);
        if spec.get("ephemeralContainers").len() > 0 {
            errors.push(spec.get("ephemeralContainers").forbidden("cannot be set on create"));
        }
        errors
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["status"]);
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Old kubelets report owners in a form that the garbage collector would misinterpret.
        new.copy_field(old, &["metadata", "ownerReferences"]);
        // The class is derived from the spec, whatever a kubelet reports.
        new.copy_field(old, &["status", "qosClass"]);
        mirror_address(new);
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::of(new, "status");
        check_addresses(&status.get("podIPs"), &mut errors);
        check_host_address(&status, &mut errors);
        check_addresses(&status.get("hostIPs"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = validation::validate(context, &Field::of(new, "spec"));
        check_spec_change(new, old, &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::of_name(object, "the Pod's hostname");
        warnings.extend(warnings::of_pod(object));
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        warnings::of_pod(new)
    }

    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
    }

    fn check_graceful_delete(
        &self,
        _context: &RequestContext,
        object: &Object,
        options: &mut DeleteOptions,
    ) -> Deletion {
        let mut seconds = options
            .grace_period_seconds
            .or_else(|| object.get_i64(&["spec", "terminationGracePeriodSeconds"]))
            .unwrap_or_default();
        let assigned = object.get_str(&["spec", "nodeName"]).is_some_and(|node| !node.is_empty());
        let over = matches!(object.get_str(&["status", "phase"]), Some("Succeeded" | "Failed"));
        // The pod is not assigned to a node, or has terminated: there is nothing to wait for.
        if !assigned || over {
            seconds = 0;
        }
        if seconds < 0 {
            seconds = 1;
        }
        options.grace_period_seconds = Some(seconds);
        Deletion::Graceful
    }
}

/// Aligns the two fields of a pod's addresses: kubelets set the single field, the list, or both. The single one is
/// older, and takes precedence where they differ.
fn mirror_address(pod: &mut Object) {
    let single = pod.get_str(&["status", "podIP"]).unwrap_or_default().to_owned();
    let first = pod.get(&["status", "podIPs"]).and_then(|list| list.get(0)?.get("ip")?.as_str());
    let first = first.unwrap_or_default().to_owned();
    if single.is_empty() && !first.is_empty() {
        pod.set(&["status", "podIP"], first.into());
    } else if single != first {
        pod.set(&["status", "podIPs"], json!([{ "ip": single }]));
    }
}

/// Checks that a node's address is in both fields, or only in the older one.
fn check_host_address(status: &Field<'_, '_>, errors: &mut ErrorList) {
    let all = status.get("hostIPs");
    if let Some(first) = all.elements().next() {
        let first = first.get("ip");
        if first.text() != status.get("hostIP").text() {
            errors.push(first.invalid("must be equal to `hostIP`"));
        }
    }
}

/// Checks that addresses are valid, with at most one of each family.
fn check_addresses(list: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut families = Vec::new();
    for entry in list.elements() {
        let address = entry.get("ip");
        match address.text().parse::<std::net::IpAddr>() {
            Ok(address) => families.push(address.is_ipv4()),
            Err(_) => {
                errors.push(address.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
            }
        }
    }
    let is_dual = matches!(families.as_slice(), [first, second] if first != second);
    if families.len() > 1 && !is_dual {
        errors.push(list.invalid("may specify no more than one IP for each IP family"));
    }
}

/// Returns `Guaranteed`, `Burstable` or `BestEffort`, from the requests and limits of the containers.
pub(crate) fn quality_of_service(pod: &Object) -> &'static str {
    let containers = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| pod.get(&["spec", list])?.as_array())
        .flatten();
    let mut any = false;
    let mut all_guaranteed = true;
    for container in containers {
        let of = |kind: &str| container.pointer(&format!("/resources/{kind}")).and_then(Value::as_object);
        let requests = of("requests");
        let limits = of("limits");
        let counts = |map: Option<&Map<String, Value>>, resource: &str| {
            map.and_then(|map| map.get(resource))
                .and_then(Value::as_str)
                .filter(|amount| *amount != "0")
                .map(str::to_owned)
        };
        for resource in ["cpu", "memory"] {
            let request = counts(requests, resource);
            let limit = counts(limits, resource);
            any |= request.is_some() || limit.is_some();
            all_guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, all_guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Returns the condition of a pod with scheduling gates.
fn scheduling_gated() -> Value {
    json!({
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
        "lastTransitionTime": time::now(), "message": "Scheduling is blocked due to non-empty scheduling gates",
    })
}

/// Checks that the specs are equal except for the mutable fields.
fn check_spec_change(new: &Object, old: &Object, errors: &mut ErrorList) {
    let mut allowed = new.clone();
    for list in ["containers", "initContainers"] {
        copy_images(&mut allowed, old, list);
    }
    let gates_before = old.get(&["spec", "schedulingGates"]).is_some();
    for field in ["activeDeadlineSeconds", "tolerations"] {
        allowed.copy_field(old, &["spec", field]);
    }
    if gates_before {
        for field in ["schedulingGates", "nodeSelector", "affinity"] {
            allowed.copy_field(old, &["spec", field]);
        }
    }
    if old.get_i64(&["spec", "terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        allowed.copy_field(old, &["spec", "terminationGracePeriodSeconds"]);
    }
    check_deadline(new, old, errors);
    check_tolerations(new, old, errors);
    if allowed.0.get("spec") != old.0.get("spec") {
        errors.push(FieldError::forbidden(FieldPath::new("spec"), MUTABLE));
    }
}

fn copy_images(new: &mut Object, old: &Object, list: &str) {
    let Some(old) = old.get(&["spec", list]).and_then(Value::as_array) else { return };
    let Some(Value::Object(spec)) = new.0.get_mut("spec") else { return };
    let Some(new) = spec.get_mut(list).and_then(Value::as_array_mut) else { return };
    for (new, old) in new.iter_mut().zip(old) {
        if let (Some(container), Some(image)) = (new.as_object_mut(), old.get("image")) {
            container.insert("image".to_owned(), image.clone());
        }
    }
}

/// Checks that the deadline is only set or shortened, never extended or removed.
fn check_deadline(new: &Object, old: &Object, errors: &mut ErrorList) {
    let path = ["spec", "activeDeadlineSeconds"];
    let Some(before) = old.get_i64(&path) else { return };
    let field = FieldPath::new("spec").child("activeDeadlineSeconds");
    match new.get_i64(&path) {
        None => errors.push(FieldError::invalid(
            field,
            Value::Null,
            "must not update from a positive integer to nil value",
        )),
        Some(after) if after > before => {
            errors.push(FieldError::invalid(field, after, "must be less than or equal to previous value"));
        }
        Some(_) => {}
    }
}

/// The immutable fields of a toleration.
const TOLERATION_KEY: [&str; 4] = ["key", "operator", "value", "effect"];

/// Checks that tolerations are only added, never removed.
fn check_tolerations(new: &Object, old: &Object, errors: &mut ErrorList) {
    let of = |object: &Object| -> HashSet<String> {
        let all = object.get(&["spec", "tolerations"]).and_then(Value::as_array);
        let key = |one: &Value| serde_json::json!(TOLERATION_KEY.map(|field| one.get(field))).to_string();
        all.into_iter().flatten().map(key).collect()
    };
    if !of(old).is_subset(&of(new)) {
        let path = FieldPath::new("spec").child("tolerations");
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
    }
}
