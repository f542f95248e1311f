//! Changes of a pod's status, which kubelets and schedulers report.
//!
//! Kubernetes concept: `ValidatePodStatusUpdate` in `pkg/apis/core/validation`.

mod containers;

use std::collections::{HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use serde_json::{Value, json};

use super::spec_change;
use crate::core::address;
use crate::core::pod_spec::validation;
use crate::support::field::{Field, ShownAsGo as _};

const NOT_NEGATIVE: &str = "must be a non-negative integer";
/// Conditions whose types need not be checked.
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

// === before validation ===

/// Restores what clients must not change, and what old kubelets do not report.
pub(super) fn prepare(new: &mut Object, old: &Object) {
    // A status neither begins nor ends a deletion.
    new.copy_field(old, &["metadata", "deletionTimestamp"]);
    // Old kubelets report owners in a form that the garbage collector would misinterpret.
    new.copy_field(old, &["metadata", "ownerReferences"]);
    if new.get_str(&["status", "qosClass"]).unwrap_or_default().is_empty() {
        new.copy_field(old, &["status", "qosClass"]);
    }
    keep_observed_generations(new, old);
    drop_disabled(new);
    mirror_address(new);
}

/// Restores generations that a client does not report, of the status and of its conditions.
fn keep_observed_generations(new: &mut Object, old: &Object) {
    const GENERATION: &str = "observedGeneration";
    if new.get_i64(&["status", GENERATION]).unwrap_or_default() == 0 {
        new.copy_field(old, &["status", GENERATION]);
    }
    // There may be several conditions of one type, which are matched in their order.
    let mut before: HashMap<&str, Vec<i64>> = HashMap::new();
    let conditions = old.get(&["status", "conditions"]).and_then(Value::as_array);
    for condition in conditions.into_iter().flatten().rev() {
        let kind = condition.get("type").and_then(Value::as_str).unwrap_or_default();
        let generation = condition.get(GENERATION).and_then(Value::as_i64).unwrap_or_default();
        before.entry(kind).or_default().push(generation);
    }
    let status = new.0.get_mut("status").and_then(|status| status.get_mut("conditions"));
    let conditions = status.and_then(Value::as_array_mut).into_iter().flatten();
    for condition in conditions.filter_map(Value::as_object_mut) {
        let kind = condition.get("type").and_then(Value::as_str).unwrap_or_default();
        let generation = before.get_mut(kind).and_then(Vec::pop).unwrap_or_default();
        let own = condition.get(GENERATION).and_then(Value::as_i64).unwrap_or_default();
        if own == 0 && generation != 0 {
            condition.insert(GENERATION.to_owned(), generation.into());
        }
    }
}

/// Drops fields of features that are off by default.
fn drop_disabled(pod: &mut Object) {
    let Some(Value::Object(status)) = pod.0.get_mut("status") else { return };
    status.remove("nodeAllocatableResourceClaimStatuses");
    for list in containers::LISTS {
        let containers = status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers {
            let mounts = container.get_mut("volumeMounts").and_then(Value::as_array_mut);
            for mount in mounts.into_iter().flatten().filter_map(Value::as_object_mut) {
                mount.remove("volumeStatus");
            }
        }
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

// === validation ===

/// Returns the errors of a change of the status.
pub(super) fn validate(context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let options = validation::options_of_pod(context, Some(old));
    spec_change::check_annotations(new, old, &options, &mut errors);
    let (status, before) = (Field::of(new, "status"), Field::of(old, "status"));
    let spec = Field::of(old, "spec");
    check_conditions(&status.get("conditions"), &mut errors);
    check_nomination(&status, &before, &spec, &mut errors);
    let generation = status.get("observedGeneration");
    if generation.number() < 0 {
        errors.push(generation.invalid(NOT_NEGATIVE));
    }
    status.get("qosClass").check_immutable(&before.get("qosClass"), &mut errors);
    containers::check_transitions(&status, &before, &spec, &mut errors);
    check_claims(&status.get("resourceClaimStatuses"), &spec.get("resourceClaims"), &mut errors);
    check_extended_claim(&status.get("extendedResourceClaimStatus"), &spec, &mut errors);
    check_addresses(&status.get("podIPs"), &before.get("podIPs"), &mut errors);
    check_host_address(&status, &mut errors);
    check_addresses(&status.get("hostIPs"), &before.get("hostIPs"), &mut errors);
    containers::check(&status, &spec, &mut errors);
    errors
}

fn check_conditions(conditions: &Field<'_, '_>, errors: &mut ErrorList) {
    for condition in conditions.elements() {
        let generation = condition.get("observedGeneration");
        if generation.number() < 0 {
            errors.push(generation.invalid(NOT_NEGATIVE));
        }
        let kind = condition.get("type").called("Type");
        if !SYSTEM_CONDITIONS.contains(&kind.text()) {
            kind.check(names::qualified_name, errors);
        }
    }
}

/// Checks the node that a scheduler expects a pod to run on.
fn check_nomination(
    status: &Field<'_, '_>,
    before: &Field<'_, '_>,
    spec: &Field<'_, '_>,
    errors: &mut ErrorList,
) {
    let node = status.get("nominatedNodeName");
    if node.text().is_empty() || node.text() == before.get("nominatedNodeName").text() {
        return;
    }
    node.check(names::dns_subdomain, errors);
    if !spec.get("nodeName").text().is_empty() {
        errors.push(node.forbidden("may not be set on pods that are already bound to a node"));
    }
}

/// Checks the statuses of claims: the claims that were made or found for the claims of the spec.
fn check_claims(statuses: &Field<'_, '_>, claims: &Field<'_, '_>, errors: &mut ErrorList) {
    if statuses.is_empty() {
        return;
    }
    let claims: HashSet<_> = claims.elements().map(|claim| claim.get("name").text()).collect();
    let mut seen = HashSet::new();
    for status in statuses.elements() {
        let name = status.get("name");
        if !claims.contains(name.text()) {
            errors.push(name.invalid_text("must match the name of an entry in `spec.resourceClaims`"));
        }
        if !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
        status.get("resourceClaimName").check_if_present(names::dns_subdomain, errors);
    }
}

/// Checks the claim that was made for extended resources of containers.
fn check_extended_claim(status: &Field<'_, '_>, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    if !status.exists() {
        return;
    }
    let mut requests: HashMap<&str, Option<&Value>> = HashMap::new();
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).elements() {
            let resources = container.get("resources");
            requests.insert(container.get("name").text(), resources.get("requests").value());
        }
    }
    let mappings = status.get("requestMappings");
    if mappings.is_empty() {
        errors.push(mappings.required("at least one request mapping is required"));
    }
    let mut seen = HashSet::new();
    for mapping in mappings.elements() {
        let fields = ["containerName", "resourceName", "requestName"].map(|name| mapping.get(name));
        let [container, resource, request] = &fields;
        if let Some(requests) = requests.get(container.text()) {
            let is_known = requests.is_some_and(|requests| requests.get(resource.text()).is_some());
            if !is_known {
                let detail = "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.push(resource.invalid_text(detail));
            }
        } else {
            let detail =
                "must match the name of an entry in spec.initContainers.name or spec.containers.name";
            errors.push(container.invalid_text(detail));
        }
        for complaint in names::dns_label(request.text()) {
            errors.push(FieldError::invalid(status.path().child("requestName"), request.text(), complaint));
        }
        if !seen.insert([container.text(), resource.text(), request.text()]) {
            errors.0.extend(fields.iter().map(|field| field.duplicate()));
        }
    }
    status.get("resourceClaimName").check_named(names::dns_subdomain, errors);
}

// === addresses ===

/// Checks that a node's address is in both fields, or only in the older one.
fn check_host_address(status: &Field<'_, '_>, errors: &mut ErrorList) {
    let all = status.get("hostIPs");
    if let Some(first) = all.elements().next() {
        let first = first.get("ip");
        if first.text() != status.get("hostIP").text() {
            errors.push(first.invalid_text("must be equal to `hostIP`"));
        }
    }
}

/// Checks that new addresses are valid, and that there is at most one of each family.
fn check_addresses(list: &Field<'_, '_>, before: &Field<'_, '_>, errors: &mut ErrorList) {
    if list.is_empty() {
        return;
    }
    let before: HashSet<_> = before.elements().map(|entry| entry.get("ip").text()).collect();
    let mut families = Vec::new();
    for entry in list.elements() {
        let text = entry.get("ip").text();
        if let Some(complaint) = address::complaint(text).filter(|_| !before.contains(text)) {
            errors.push(FieldError::invalid(entry.path(), text, complaint));
        }
        families.push(address::is_ipv6(text));
    }
    if families.len() <= 1 {
        return;
    }
    let invalid = list.elements().enumerate().zip(&families).find(|(_, family)| family.is_none());
    if let Some(((place, entry), _)) = invalid {
        let text = entry.get("ip").text();
        let detail = format!("failed to check for dual stack with error:invalid IP[{place}]: {text}");
        errors.push(internal_error(list, detail));
    }
    let is_dual = matches!(families.as_slice(), [Some(first), Some(second)] if first != second);
    if !is_dual {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(list.invalid_as("[<core.PodIP>", detail));
    }
}

fn internal_error(field: &Field<'_, '_>, detail: String) -> FieldError {
    FieldError {
        kind: registry_core::api::validation::FieldErrorKind::Internal,
        ..FieldError::forbidden(field.path(), detail)
    }
}
