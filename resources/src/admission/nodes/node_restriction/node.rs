//! The changes that a node may make to its node object.

use std::collections::BTreeSet;

use registry_core::admission::Operation;
use registry_core::api::{Object, StatusError};
use serde_json::Value;

use super::Write;

/// Labels below this domain are set by administrators: pods are placed by them.
const RESTRICTED: &str = "node-restriction.kubernetes.io";
/// The labels of Kubernetes that kubelets set.
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
/// The domains below which kubelets set any label.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

pub(super) fn check(write: &Write<'_>) -> Result<(), StatusError> {
    let node = write.node;
    let name = write.name();
    if name != node {
        return Err(write.refused(format!("node {node:?} is not allowed to modify node {name:?}")));
    }
    match (write.attributes.operation, write.object, write.old) {
        (Operation::Create, Some(new), _) => check_new(write, new),
        (Operation::Update, Some(new), Some(old)) => check_changed(write, new, old),
        _ => Ok(()),
    }
}

fn check_new(write: &Write<'_>, new: &Object) -> Result<(), StatusError> {
    let node = write.node;
    if is_set(new.get(&["spec", "configSource"])) {
        let why = format!("node {node:?} is not allowed to create pods with a non-nil configSource");
        return Err(write.refused(why));
    }
    let forbidden = forbidden_labels(new, &Object::default());
    if forbidden.is_empty() {
        return Ok(());
    }
    Err(write.refused(format!("node {node:?} is not allowed to set the following labels: {forbidden}")))
}

fn check_changed(write: &Write<'_>, new: &Object, old: &Object) -> Result<(), StatusError> {
    let node = write.node;
    let differ = |path: &[&str]| !are_same(new.get(path), old.get(path));
    if is_set(new.get(&["spec", "configSource"])) && differ(&["spec", "configSource"]) {
        let why =
            format!("node {node:?} is not allowed to update configSource to a new non-nil configSource");
        return Err(write.refused(why));
    }
    // A tainted node could otherwise get pods again that were kept from it.
    if differ(&["spec", "taints"]) {
        return Err(write.refused(format!("node {node:?} is not allowed to modify taints")));
    }
    if differ(&["metadata", "ownerReferences"]) {
        return Err(write.refused(format!("node {node:?} is not allowed to modify ownerReferences")));
    }
    let forbidden = forbidden_labels(new, old);
    if forbidden.is_empty() {
        return Ok(());
    }
    Err(write.refused(format!("is not allowed to modify labels: {forbidden}")))
}

fn is_set(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

/// Whether two fields are the same: an empty list is the same as none.
fn are_same(left: Option<&Value>, right: Option<&Value>) -> bool {
    let normal = |value: Option<&'_ Value>| {
        let is_empty = |value: &&Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        value.filter(|value| !is_empty(value)).cloned()
    };
    normal(left) == normal(right)
}

/// Returns the changed labels that kubelets do not set, sorted; empty if there are none.
fn forbidden_labels(new: &Object, old: &Object) -> String {
    let after: BTreeSet<(&str, &str)> = new.labels().collect();
    let before: BTreeSet<(&str, &str)> = old.labels().collect();
    let changed: BTreeSet<&str> = after.symmetric_difference(&before).map(|(label, _)| *label).collect();
    changed.into_iter().filter(|label| is_forbidden(label)).collect::<Vec<_>>().join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let Some((domain, _)) = label.split_once('/') else { return false };
    let is_below =
        |parent: &str| domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_of_kubernetes = is_below("kubernetes.io") || is_below("k8s.io");
    let is_of_kubelets =
        KUBELET_LABELS.contains(&label) || KUBELET_DOMAINS.iter().any(|parent| is_below(parent));
    is_below(RESTRICTED) || is_of_kubernetes && !is_of_kubelets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_forbidden_by_their_domain() {
        for (label, expected) in [
            ("mine", false),
            ("example.com/mine", false),
            ("notkubernetes.io/mine", false),
            ("kubernetes.io/hostname", false),
            ("kubelet.kubernetes.io/mine", false),
            ("a.node.kubernetes.io/mine", false),
            ("xnode.kubernetes.io/mine", true),
            ("kubernetes.io/role", true),
            ("node-role.kubernetes.io/master", true),
            ("a.k8s.io/mine", true),
            ("node-restriction.kubernetes.io/fips", true),
            ("a.node-restriction.kubernetes.io/fips", true),
        ] {
            assert_eq!(is_forbidden(label), expected, "{label}");
        }
    }
}
