//! Affinity to nodes and to other pods.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::Options;
use crate::support::field::Field;
use crate::support::label_selector;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Checks all affinities of a pod.
pub(super) fn check(affinity: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if !affinity.exists() {
        return;
    }
    check_node_affinity(&affinity.get("nodeAffinity"), options, errors);
    for kind in ["podAffinity", "podAntiAffinity"] {
        check_pod_affinity(&affinity.get(kind), options, errors);
    }
}

// === nodes ===

fn check_node_affinity(affinity: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let required = affinity.get(REQUIRED);
    if required.exists() {
        let terms = required.get("nodeSelectorTerms");
        if terms.is_empty() {
            errors.push(terms.required("must have at least one node selector term"));
        }
        for term in terms.elements() {
            check_node_term(&term, options.tolerates_node_affinity_values, errors);
        }
    }
    for preferred in affinity.get(PREFERRED).elements() {
        check_weight(&preferred.get("weight"), errors);
        // Preferences with invalid values have always been accepted: they match no node.
        check_node_term(&preferred.get("preference"), true, errors);
    }
}

fn check_weight(weight: &Field<'_, '_>, errors: &mut ErrorList) {
    if !(1..=100).contains(&weight.number()) {
        errors.push(FieldError::invalid(weight.path(), weight.number(), "must be in the range 1-100"));
    }
}

fn check_node_term(term: &Field<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    for requirement in term.get("matchExpressions").elements() {
        check_node_labels(&requirement, tolerates_values, errors);
    }
    for requirement in term.get("matchFields").elements() {
        check_node_fields(&requirement, errors);
    }
}

/// Checks a requirement about labels of nodes.
fn check_node_labels(requirement: &Field<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(values.forbidden(detail));
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => errors.push(operator.invalid_text(NOT_AN_OPERATOR)),
    }
    requirement.get("key").check(names::qualified_name, errors);
    if !tolerates_values {
        for value in values.elements() {
            value.check(names::label_value, errors);
        }
    }
}

/// Checks a requirement about fields of nodes: only the name can be selected.
fn check_node_fields(requirement: &Field<'_, '_>, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    if !matches!(operator.text(), "In" | "NotIn") {
        errors.push(operator.invalid_text(NOT_AN_OPERATOR));
    } else if values.len() != 1 {
        let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        errors.push(values.required(detail));
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

// === pods ===

fn check_pod_affinity(affinity: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    for term in affinity.get(REQUIRED).elements() {
        check_pod_term(&term, options, errors);
    }
    for preferred in affinity.get(PREFERRED).elements() {
        check_weight(&preferred.get("weight"), errors);
        check_pod_term(&preferred.get("podAffinityTerm"), options, errors);
    }
}

fn check_pod_term(term: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    check_term_selectors(term, options.tolerates_selector_values, errors);
    for namespace in term.get("namespaces").elements() {
        for complaint in names::dns_label(namespace.text()) {
            errors.push(FieldError::invalid(term.path().child("namespace"), namespace.text(), complaint));
        }
    }
    check_label_keys(term, errors);
    let key = term.get("topologyKey");
    if key.text().is_empty() {
        errors.push(key.required("can not be empty"));
    }
    key.check(names::qualified_name, errors);
}

fn check_term_selectors(term: &Field<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    for selector in ["labelSelector", "namespaceSelector"] {
        let selector = term.get(selector);
        if tolerates_values {
            label_selector::check_except_values(&selector, errors);
        } else {
            label_selector::check(&selector, errors);
        }
    }
}

/// Checks `matchLabelKeys` and `mismatchLabelKeys` of a term or of a spread constraint, whose requirements the server
/// adds to the selector.
pub(super) fn check_label_keys(holder: &Field<'_, '_>, errors: &mut ErrorList) {
    let matched = holder.get("matchLabelKeys");
    let mismatched = holder.get("mismatchLabelKeys");
    if matched.is_empty() && mismatched.is_empty() {
        return;
    }
    let selector = holder.get("labelSelector");
    for keys in [&matched, &mismatched] {
        if keys.is_empty() {
            continue;
        }
        if !selector.exists() {
            errors.push(keys.forbidden("must not be specified when labelSelector is not set"));
            continue;
        }
        for key in keys.elements() {
            key.check(names::qualified_name, errors);
        }
    }
    // The selector has one requirement of each key, which the server added; a further one is the client's.
    let places: HashMap<&str, usize> =
        matched.elements().enumerate().map(|(place, key)| (key.text(), place)).collect();
    let labels = selector.get("matchLabels");
    let mut selected: HashSet<&str> = labels.entries().map(|(key, _)| key).collect();
    for expression in selector.get("matchExpressions").elements() {
        let key = expression.get("key").text();
        if let Some(place) = places.get(key).filter(|_| selected.contains(key)) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(holder.path().index(*place), key, detail));
        }
        selected.insert(key);
    }
    let refused: HashSet<&str> = mismatched.elements().map(|key| key.text()).collect();
    for key in matched.elements().filter(|key| refused.contains(key.text())) {
        errors.push(key.invalid("exists in both matchLabelKeys and mismatchLabelKeys"));
    }
}

// === what an old pod may keep ===

/// Whether a selector of the affinities to pods is invalid.
pub(super) fn has_invalid_selector(affinity: &Field<'_, '_>) -> bool {
    let mut errors = ErrorList::default();
    for kind in ["podAffinity", "podAntiAffinity"] {
        let affinity = affinity.get(kind);
        for term in affinity.get(REQUIRED).elements() {
            check_term_selectors(&term, false, &mut errors);
        }
        for preferred in affinity.get(PREFERRED).elements() {
            check_term_selectors(&preferred.get("podAffinityTerm"), false, &mut errors);
        }
    }
    !errors.is_empty()
}

/// Whether the required affinity to nodes has a value that is no label.
pub(super) fn has_invalid_node_value(affinity: &Field<'_, '_>) -> bool {
    let affinity = affinity.get("nodeAffinity");
    let required = affinity.get(REQUIRED);
    required.get("nodeSelectorTerms").elements().any(|term| {
        term.get("matchExpressions").elements().any(|requirement| {
            requirement.get("values").elements().any(|value| !names::label_value(value.text()).is_empty())
        })
    })
}
