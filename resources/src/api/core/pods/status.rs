//! Changes of a pod's status, which kubelets and schedulers report.
//!
//! Kubernetes concept: `ValidatePodStatusUpdate` in `pkg/apis/core/validation`.

mod containers;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Deref;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use resource_views::core::v1::{
    HostIP, Pod, PodCondition, PodExtendedResourceClaimStatus, PodIP, PodMut, PodResourceClaim,
    PodResourceClaimStatus, PodSpec, PodStatus,
};
use resource_views::{List, Typed, View};
use serde_json::{Value, json};

use super::spec_change;
use crate::api::core::pod_spec::validation;
use crate::support::address;
use crate::support::field::ShownAsGo as _;

const NOT_NEGATIVE: &str = "must be a non-negative integer";
/// Conditions whose types need not be checked.
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

// === before validation ===

/// Restores what clients must not change, and what old kubelets do not report.
pub(super) fn prepare(new: &mut Object, old: &Object) {
    if Pod(new).status().qos_class().text().is_empty() {
        new.copy_field(old, &["status", "qosClass"]);
    }
    keep_observed_generations(new, old);
    mirror_address(new);
}

/// Restores generations that a client does not report, of the status and of its conditions.
fn keep_observed_generations(new: &mut Object, old: &Object) {
    if Pod(new).status().observed_generation().number() == 0 {
        new.copy_field(old, &["status", "observedGeneration"]);
    }
    let before = Pod(old).status();
    let Some(mut status) = PodMut(new).status().present() else { return };
    // There may be several conditions of one type, which are matched in their order.
    let mut generations: HashMap<&str, VecDeque<i64>> = HashMap::new();
    for condition in before.conditions().elements() {
        let generation = condition.observed_generation().number();
        generations.entry(condition.r#type().text()).or_default().push_back(generation);
    }
    for mut condition in status.conditions().elements() {
        let generation = generations.get_mut(condition.r#type().text()).and_then(VecDeque::pop_front);
        if let Some(generation) = generation.filter(|generation| *generation != 0) {
            condition.observed_generation().or_if_zero(generation);
        }
    }
}

/// Aligns the two fields of a pod's addresses: kubelets set the single field, the list, or both. The single one is
/// older, and takes precedence where they differ.
fn mirror_address(pod: &mut Object) {
    let status = Pod(pod).status();
    let single = status.pod_ip().text().to_owned();
    let first = status.pod_ips().elements().next().map(|entry| entry.ip().text().to_owned());
    let first = first.unwrap_or_default();
    if single == first {
        return;
    }
    let mut status = PodMut(pod).status().or_new();
    if single.is_empty() {
        status.pod_ip().set(&first);
    } else {
        status.pod_ips().set_value(json!([{ "ip": single }]));
    }
}

// === validation ===

/// Returns the errors of a change of the status. A pod on a node is only nominated for another one if that is accepted.
pub(super) fn validate(
    context: &RequestContext,
    new: &Object,
    old: &Object,
    accepts_late_nominations: bool,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let options = validation::options_of_pod(context, Some(old));
    spec_change::check_annotations(new, old, &options, &mut errors);
    let (status, before) = (Pod(new).status(), Pod(old).status());
    let spec = Pod(old).spec();
    check_conditions(&status.conditions(), &mut errors);
    let is_fixed = !accepts_late_nominations && !spec.node_name().text().is_empty();
    check_nomination(&status, &before, is_fixed, &mut errors);
    let generation = status.observed_generation();
    if generation.number() < 0 {
        errors.push(generation.invalid(NOT_NEGATIVE));
    }
    status.qos_class().check_immutable(&before.qos_class(), &mut errors);
    containers::check_transitions(&status, &before, &spec, &mut errors);
    check_claims(&status.resource_claim_statuses(), &spec.resource_claims(), &mut errors);
    check_extended_claim(&status.extended_resource_claim_status(), &spec, &mut errors);
    let known = before.pod_ips().elements().map(|entry| entry.ip().text()).collect();
    check_addresses(&status.pod_ips(), &known, |entry: &PodIP<'_, '_>| entry.ip().text(), &mut errors);
    check_host_address(&status, &mut errors);
    let known = before.host_ips().elements().map(|entry| entry.ip().text()).collect();
    check_addresses(&status.host_ips(), &known, |entry: &HostIP<'_, '_>| entry.ip().text(), &mut errors);
    containers::check(&status, &spec, &mut errors);
    errors
}

fn check_conditions(conditions: &List<PodCondition<'_, '_>>, errors: &mut ErrorList) {
    for condition in conditions.elements() {
        let generation = condition.observed_generation();
        if generation.number() < 0 {
            errors.push(generation.invalid(NOT_NEGATIVE));
        }
        let kind = condition.r#type().shown_as("Type");
        if !SYSTEM_CONDITIONS.contains(&kind.text()) {
            kind.check(names::qualified_name, errors);
        }
    }
}

/// Checks the node that a scheduler expects a pod to run on, of a pod whose node may be fixed.
fn check_nomination(
    status: &PodStatus<'_, '_>,
    before: &PodStatus<'_, '_>,
    is_fixed: bool,
    errors: &mut ErrorList,
) {
    let node = status.nominated_node_name();
    if node.text().is_empty() || node.text() == before.nominated_node_name().text() {
        return;
    }
    node.check(names::dns_subdomain, errors);
    if is_fixed {
        errors.push(node.forbidden("may not be set on pods that are already bound to a node"));
    }
}

/// Checks the statuses of claims: the claims that were made or found for the claims of the spec.
fn check_claims(
    statuses: &List<PodResourceClaimStatus<'_, '_>>,
    claims: &List<PodResourceClaim<'_, '_>>,
    errors: &mut ErrorList,
) {
    if statuses.is_empty() {
        return;
    }
    let claims: HashSet<_> = claims.elements().map(|claim| claim.name().text()).collect();
    let mut seen = HashSet::new();
    for status in statuses.elements() {
        let name = status.name();
        if !claims.contains(name.text()) {
            errors.push(name.invalid_text("must match the name of an entry in `spec.resourceClaims`"));
        }
        if !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
        status.resource_claim_name().check_if_present(names::dns_subdomain, errors);
    }
}

/// Checks the claim that was made for extended resources of containers.
fn check_extended_claim(
    status: &PodExtendedResourceClaimStatus<'_, '_>,
    spec: &PodSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    if !status.exists() {
        return;
    }
    let mut requests: HashMap<&str, Option<&Value>> = HashMap::new();
    for list in [spec.init_containers(), spec.containers()] {
        for container in list.elements() {
            requests.insert(container.name().text(), container.resources().requests().value());
        }
    }
    let mappings = status.request_mappings();
    if mappings.is_empty() {
        errors.push(mappings.required("at least one request mapping is required"));
    }
    let mut seen = HashSet::new();
    for mapping in mappings.elements() {
        let fields = [mapping.container_name(), mapping.resource_name(), mapping.request_name()];
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
    status.resource_claim_name().check_named(names::dns_subdomain, errors);
}

// === addresses ===

/// Checks that a node's address is in both fields, or only in the older one.
fn check_host_address(status: &PodStatus<'_, '_>, errors: &mut ErrorList) {
    let all = status.host_ips();
    if let Some(first) = all.elements().next() {
        let first = first.ip();
        if first.text() != status.host_ip().text() {
            errors.push(first.invalid_text("must be equal to `hostIP`"));
        }
    }
}

/// Checks that new addresses are valid, and that there is at most one of each family.
fn check_addresses<'v: 'p, 'p, T>(
    list: &'p List<T>,
    before: &HashSet<&str>,
    address_of: impl Fn(&T) -> &'v str,
    errors: &mut ErrorList,
) where
    T: Typed<'v, 'p> + Deref<Target = View<'v, 'p>>,
{
    let mut families = Vec::new();
    for entry in list.elements() {
        let text = address_of(&entry);
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
        let text = address_of(&entry);
        let detail = format!("failed to check for dual stack with error:invalid IP[{place}]: {text}");
        errors.push(FieldError::internal(list.path(), detail));
    }
    let is_dual = matches!(families.as_slice(), [Some(first), Some(second)] if first != second);
    if !is_dual {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(list.invalid_as("[<core.PodIP>", detail));
    }
}
