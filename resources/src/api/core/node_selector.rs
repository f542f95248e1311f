//! Selectors of nodes, of volumes and of devices.
//!
//! Kubernetes concept: `ValidateNodeSelector` of `k8s.io/kubernetes/pkg/apis/core/validation`.

use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use resource_views::meta::v1::LabelSelector;

const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Checks a node selector: it must have a term, and the terms must be well-formed.
pub(crate) fn check(selector: &NodeSelector<'_, '_>, errors: &mut ErrorList) {
    check_with(selector, false, errors);
}

/// Checks a node selector whose values may be invalid labels if it is so already.
pub(crate) fn check_changed(
    selector: &NodeSelector<'_, '_>,
    old: Option<&NodeSelector<'_, '_>>,
    errors: &mut ErrorList,
) {
    check_with(selector, old.is_some_and(has_invalid_value), errors);
}

/// Whether a node selector has a value that is not a label.
pub(crate) fn has_invalid_value(selector: &NodeSelector<'_, '_>) -> bool {
    selector.node_selector_terms().elements().any(|term| {
        term.match_expressions().elements().any(|requirement| {
            requirement.values().elements().any(|value| !names::label_value(value.text()).is_empty())
        })
    })
}

pub(crate) fn check_with(selector: &NodeSelector<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    let terms = selector.node_selector_terms();
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.elements() {
        check_term(&term, tolerates_values, errors);
    }
}

/// Checks a term, whose values may be invalid labels if that is tolerated.
pub(crate) fn check_term(term: &NodeSelectorTerm<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    for requirement in term.match_expressions().elements() {
        check_labels(&requirement, tolerates_values, errors);
    }
    for requirement in term.match_fields().elements() {
        check_fields(&requirement, errors);
    }
}

fn check_labels(
    requirement: &NodeSelectorRequirement<'_, '_>,
    tolerates_values: bool,
    errors: &mut ErrorList,
) {
    let operator = requirement.operator();
    let values = requirement.values();
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
    requirement.key().check(names::qualified_name, errors);
    for value in values.elements().filter(|_| !tolerates_values) {
        value.check(names::label_value, errors);
    }
}

fn check_fields(requirement: &NodeSelectorRequirement<'_, '_>, errors: &mut ErrorList) {
    let operator = requirement.operator();
    let values = requirement.values();
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
    let key = requirement.key();
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
pub(crate) fn warn(selector: &NodeSelector<'_, '_>, warnings: &mut Vec<String>) {
    for term in selector.node_selector_terms().elements() {
        for requirement in term.match_expressions().elements() {
            let key = requirement.key();
            if let Some(text) = deprecation(key.text()) {
                warnings.push(format!("{}: {} is {text}", key.path(), key.text()));
            }
        }
    }
}

/// Warns of labels that were replaced by others in a label selector of nodes.
pub(crate) fn warn_of_labels(selector: &LabelSelector<'_, '_>, warnings: &mut Vec<String>) {
    for expression in selector.match_expressions().elements() {
        let key = expression.key();
        if let Some(text) = deprecation(key.text()) {
            warnings.push(format!("{}: {} is {text}", key.path(), key.text()));
        }
    }
    let labels = selector.match_labels();
    for (label, _) in labels.entries() {
        if let Some(text) = deprecation(label) {
            warnings.push(format!("{}: {text}", labels.path().child(label)));
        }
    }
}
