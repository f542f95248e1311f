//! Selectors of nodes, of volumes and of devices.
//!
//! Kubernetes concept: `ValidateNodeSelector` of `k8s.io/kubernetes/pkg/apis/core/validation`.

use registry_core::api::validation::{ErrorList, names};

use crate::support::field::Field;

const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Checks a node selector: it must have a term, and the terms must be well-formed.
pub(crate) fn check(selector: &Field<'_, '_>, errors: &mut ErrorList) {
    check_with(selector, false, errors);
}

/// Checks a node selector whose values may be invalid labels if it is so already.
pub(crate) fn check_changed(selector: &Field<'_, '_>, old: Option<&Field<'_, '_>>, errors: &mut ErrorList) {
    let is_tolerated = |old: &Field<'_, '_>| {
        old.get("nodeSelectorTerms").elements().any(|term| {
            term.get("matchExpressions").elements().any(|requirement| {
                requirement.get("values").elements().any(|value| !names::label_value(value.text()).is_empty())
            })
        })
    };
    check_with(selector, old.is_some_and(is_tolerated), errors);
}

fn check_with(selector: &Field<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.elements() {
        for requirement in term.get("matchExpressions").elements() {
            check_labels(&requirement, tolerates_values, errors);
        }
        for requirement in term.get("matchFields").elements() {
            check_fields(&requirement, errors);
        }
    }
}

fn check_labels(requirement: &Field<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(values.forbidden(detail));
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(values.required(detail));
            }
        }
        _ => errors.push(operator.invalid_text(NOT_AN_OPERATOR)),
    }
    requirement.get("key").check(names::qualified_name, errors);
    for value in values.elements().filter(|_| !tolerates_values) {
        value.check(names::label_value, errors);
    }
}

fn check_fields(requirement: &Field<'_, '_>, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    match operator.text() {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let detail =
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(values.required(detail));
            }
        }
        _ => errors.push(operator.invalid_text(NOT_AN_OPERATOR)),
    }
    let key = requirement.get("key");
    if key.text() != "metadata.name" {
        errors.push(key.invalid_text("not a valid field selector key"));
        return;
    }
    for value in values.elements() {
        value.check(names::dns_subdomain, errors);
    }
}

/// The labels of nodes that were replaced by others, and what to say about them.
const DEPRECATED_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// Returns what to say about a label of nodes that was replaced by another.
pub(crate) fn deprecation(label: &str) -> Option<&'static str> {
    DEPRECATED_LABELS.iter().find(|(name, _)| *name == label).map(|(_, text)| *text)
}

/// Warns of labels that were replaced by others in the terms of a selector.
pub(crate) fn warn(selector: &Field<'_, '_>, warnings: &mut Vec<String>) {
    for term in selector.get("nodeSelectorTerms").elements() {
        for requirement in term.get("matchExpressions").elements() {
            let key = requirement.get("key");
            if let Some(text) = deprecation(key.text()) {
                warnings.push(format!("{}: {} is {text}", key.path(), key.text()));
            }
        }
    }
}

/// Warns of labels that were replaced by others in a label selector of nodes.
pub(crate) fn warn_of_labels(selector: &Field<'_, '_>, warnings: &mut Vec<String>) {
    for expression in selector.get("matchExpressions").elements() {
        let key = expression.get("key");
        if let Some(text) = deprecation(key.text()) {
            warnings.push(format!("{}: {} is {text}", key.path(), key.text()));
        }
    }
    let labels = selector.get("matchLabels");
    for (label, _) in labels.entries() {
        if let Some(text) = deprecation(label) {
            warnings.push(format!("{}: {text}", labels.get(label).path()));
        }
    }
}
