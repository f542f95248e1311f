//! Validation of nodes.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};
use resource_views::core::v1::{Node, Taint};
use resource_views::meta::v1::OwnerReference;
use resource_views::{List, Map, Quantity, Text, Typed as _};
use serde_json::Value;

use crate::api::core::pod_spec::validation::resources;
use crate::support::address::{self, Network};
use crate::support::field::ShownAsGo as _;
use crate::support::semantic;

const AVOIDED_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
/// Maximum length of the name of a feature, in bytes.
const MAX_FEATURE_BYTES: usize = 253;
const KEPT_NETWORKS: &str = "node updates may not change podCIDR except from \"\" to valid";

/// Checks what holds for new nodes and for changed ones.
pub(super) fn check_common(node: &Object, errors: &mut ErrorList) {
    let spec = Node(node).spec();
    let status = Node(node).status();
    check_avoided_pods(node, errors);
    check_taints(&spec.taints(), errors);
    check_amounts(&status.capacity(), errors);
    check_amounts(&status.allocatable(), errors);
    check_features(&status.declared_features(), errors);
}

/// Checks the size of the swap space.
pub(super) fn check_swap(node: &Object, errors: &mut ErrorList) {
    let status = Node(node).status();
    let info = status.node_info();
    let swap = info.swap();
    let capacity = swap.capacity();
    if capacity.integer().is_some_and(|bytes| bytes <= 0) {
        // The path is that of metadata.
        let path = FieldPath::new("metadata").child("nodeSwapStatus").child("capacity");
        errors.push(FieldError::invalid(path, capacity.number(), "must be greater than 0"));
    }
}

/// Checks the networks of a node's pods: at most one of each family.
pub(super) fn check_networks(networks: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    for network in networks.elements() {
        address::check_network(&network, errors);
    }
    if networks.len() < 2 {
        return;
    }
    let unreadable =
        networks.elements().enumerate().find(|(_, network)| Network::parse(network.text()).is_none());
    if let Some((index, network)) = unreadable {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {})",
            network.text()
        );
        errors.push(FieldError::internal(networks.path(), detail));
    }
    let families: HashSet<_> =
        networks.elements().map(|network| Network::parse(network.text()).map(Network::is_ipv6)).collect();
    let are_both = families.contains(&Some(true)) && families.contains(&Some(false));
    if !are_both || networks.len() > 2 {
        errors.push(networks.invalid("may specify no more than one CIDR for each IP family"));
    }
}

/// Checks what may not change.
pub(super) fn check_change(new: &Object, old: &Object, errors: &mut ErrorList) {
    let status = Node(new).status();
    let addresses = status.addresses();
    addresses.check_unique(
        |address| (address.r#type().text(), address.address().text()),
        |address| address.duplicate().shown_as(address.go_text("<core.NodeAddress>")),
        errors,
    );
    let spec = Node(new).spec();
    let before = Node(old).spec();
    let (networks, known) = (spec.pod_cidrs(), before.pod_cidrs());
    if !known.is_empty() {
        if networks.len() == known.len() {
            let pairs = networks.elements().zip(known.elements());
            for _ in pairs.filter(|(now, before)| now.text() != before.text()) {
                errors.push(networks.forbidden(KEPT_NETWORKS));
            }
        } else {
            errors.push(networks.forbidden(KEPT_NETWORKS));
        }
    }
    let (provider, known) = (spec.provider_id(), before.provider_id());
    if !known.text().is_empty() && provider.text() != known.text() {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(provider.forbidden(detail));
    }
    if semantic::differ(&spec.external_id(), &before.external_id()) {
        errors.push(spec.external_id().forbidden("may not be updated"));
    }
}

/// Checks the annotation with the pods that a node would rather not run.
fn check_avoided_pods(node: &Object, errors: &mut ErrorList) {
    let Some(text) = node.annotation(AVOIDED_PODS).filter(|text| !text.is_empty()) else { return };
    let place = FieldPath::new("metadata").child("annotations");
    let list = match serde_json::from_str::<Value>(text) {
        Ok(list) => list,
        Err(failure) => {
            let path = place.child("AvoidPods");
            errors.push(FieldError::invalid(path, AVOIDED_PODS, failure.to_string()));
            return;
        }
    };
    // The type of this annotation is none of a field, so that it has no view.
    let entries = list.get("preferAvoidPods").and_then(Value::as_array).into_iter().flatten();
    for (index, entry) in entries.enumerate() {
        let path = place.child(AVOIDED_PODS).index(index).child("PodSignature");
        let controller = entry.pointer("/podSignature/podController").filter(|value| value.is_object());
        match controller.map(OwnerReference::from_value) {
            None => errors.push(FieldError::required(path, "")),
            Some(controller) if !controller.controller().is_true() => {
                let path = path.child("PodController").child("Controller");
                errors.push(FieldError::invalid(path, false, "must point to a controller"));
            }
            Some(_) => {}
        }
    }
}

fn check_taints(taints: &List<Taint<'_, '_>>, errors: &mut ErrorList) {
    // The paths are those of the former place of taints.
    let place = FieldPath::new("metadata").child("taints");
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    for (index, taint) in taints.elements().enumerate() {
        let path = || place.index(index);
        let (key, effect) = (taint.key().text(), taint.effect().text());
        for complaint in names::qualified_name(key) {
            errors.push(FieldError::invalid(path().child("key"), key, complaint));
        }
        let value = taint.value().text();
        let complaints = names::label_value(value);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(path().child("value"), value, complaints.join(";")));
        }
        match effect {
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            "" => errors.push(FieldError::required(path().child("effect"), "")),
            _ => {
                let accepted = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                errors.push(FieldError::not_supported(path().child("effect"), effect, &accepted));
            }
        }
        if !seen.insert((key, effect)) {
            let error = FieldError::duplicate(path(), Value::Null);
            let shown = (*taint).go_text("<core.Taint>");
            errors.push(error.detailed("taints must be unique by key and effect pair").shown_as(shown));
        }
    }
}

/// Checks amounts of resources: not negative, and whole where they are counted.
fn check_amounts(amounts: &Map<Quantity<'_, '_>>, errors: &mut ErrorList) {
    for (name, _) in amounts.entries() {
        // The path has the name as a field.
        resources::check_quantity(name, &amounts.entry_as_field(name), errors);
    }
}

/// Checks the names of features: well-formed, in order, each once.
fn check_features(features: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    let mut before: Option<&str> = None;
    for feature in features.elements() {
        let name = feature.text();
        match before {
            Some(before) if before == name => errors.push(feature.duplicate()),
            Some(before) if before > name => {
                errors.push(feature.invalid("list must be sorted alphabetically"));
            }
            _ => {}
        }
        before = Some(name);
        if name.len() > MAX_FEATURE_BYTES {
            errors.push(feature.invalid(format!(
                "invalid feature name {name:?}: must be no more than {MAX_FEATURE_BYTES} characters"
            )));
        } else if !is_feature(name) {
            errors.push(feature.invalid(format!("invalid feature name {name:?}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes")));
        }
    }
}

fn is_feature(name: &str) -> bool {
    let is_segment = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    name.starts_with(|first: char| first.is_ascii_uppercase()) && name.split('/').all(is_segment)
}
