//! Affinity to nodes and to other pods.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{Affinity, NodeAffinity, PodAffinity, PodAffinityTerm};
use resource_views::meta::v1::LabelSelector;
use resource_views::{Integer, List, Text, View};

use super::Options;
use crate::api::core::node_selector;
use crate::support::label_selector;

/// Checks all affinities of a pod.
pub(super) fn check(affinity: &Affinity<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if !affinity.exists() {
        return;
    }
    check_node_affinity(&affinity.node_affinity(), options, errors);
    for affinity in [affinity.pod_affinity(), affinity.pod_anti_affinity().into()] {
        check_pod_affinity(&affinity, options, errors);
    }
}

// === nodes ===

fn check_node_affinity(affinity: &NodeAffinity<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let required = affinity.required_during_scheduling_ignored_during_execution();
    if required.exists() {
        node_selector::check_with(&required, options.tolerates_node_affinity_values, errors);
    }
    for preferred in affinity.preferred_during_scheduling_ignored_during_execution().elements() {
        check_weight(&preferred.weight(), errors);
        // Preferences with invalid values have always been accepted: they match no node.
        node_selector::check_term(&preferred.preference(), true, errors);
    }
}

fn check_weight(weight: &Integer<'_, '_>, errors: &mut ErrorList) {
    if !(1..=100).contains(&weight.number()) {
        errors.push(FieldError::invalid(weight.path(), weight.number(), "must be in the range 1-100"));
    }
}

// === pods ===

fn check_pod_affinity(affinity: &PodAffinity<'_, '_>, options: &Options, errors: &mut ErrorList) {
    for term in affinity.required_during_scheduling_ignored_during_execution().elements() {
        check_pod_term(&term, options, errors);
    }
    for preferred in affinity.preferred_during_scheduling_ignored_during_execution().elements() {
        check_weight(&preferred.weight(), errors);
        check_pod_term(&preferred.pod_affinity_term(), options, errors);
    }
}

fn check_pod_term(term: &PodAffinityTerm<'_, '_>, options: &Options, errors: &mut ErrorList) {
    check_term_selectors(term, options.tolerates_selector_values, errors);
    for namespace in term.namespaces().elements() {
        for complaint in names::dns_label(namespace.text()) {
            errors.push(FieldError::invalid(term.path().child("namespace"), namespace.text(), complaint));
        }
    }
    let selector = term.label_selector();
    let (matched, mismatched) = (term.match_label_keys(), term.mismatch_label_keys());
    check_label_keys(&matched, &selector, errors);
    check_label_keys(&mismatched, &selector, errors);
    check_selected_once(term, &matched, &selector, errors);
    let refused: HashSet<&str> = mismatched.texts().collect();
    for key in matched.elements().filter(|key| refused.contains(key.text())) {
        errors.push(key.invalid("exists in both matchLabelKeys and mismatchLabelKeys"));
    }
    let key = term.topology_key();
    if key.text().is_empty() {
        errors.push(key.required("can not be empty"));
    }
    key.check(names::qualified_name, errors);
}

fn check_term_selectors(term: &PodAffinityTerm<'_, '_>, tolerates_values: bool, errors: &mut ErrorList) {
    for selector in [term.label_selector(), term.namespace_selector()] {
        if tolerates_values {
            label_selector::check_except_values(&selector, errors);
        } else {
            label_selector::check(&selector, errors);
        }
    }
}

/// Checks the keys of labels that a pod shares, or does not share, with those of a selector.
pub(super) fn check_label_keys(
    keys: &List<Text<'_, '_>>,
    selector: &LabelSelector<'_, '_>,
    errors: &mut ErrorList,
) {
    if keys.is_empty() {
        return;
    }
    if !selector.exists() {
        errors.push(keys.forbidden("must not be specified when labelSelector is not set"));
        return;
    }
    for key in keys.elements() {
        key.check(names::qualified_name, errors);
    }
}

/// Checks that the selector has no requirement of its own about the keys of labels that a pod shares.
pub(super) fn check_selected_once(
    holder: &View<'_, '_>,
    matched: &List<Text<'_, '_>>,
    selector: &LabelSelector<'_, '_>,
    errors: &mut ErrorList,
) {
    // The selector has one requirement of each key, which the server added; a further one is the client's.
    let places: HashMap<&str, usize> =
        matched.elements().enumerate().map(|(place, key)| (key.text(), place)).collect();
    let labels = selector.match_labels();
    let mut selected: HashSet<&str> = labels.entries().map(|(key, _)| key).collect();
    for expression in selector.match_expressions().elements() {
        let key = expression.key().text();
        if let Some(place) = places.get(key).filter(|_| selected.contains(key)) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(holder.path().index(*place), key, detail));
        }
        selected.insert(key);
    }
}

// === what an old pod may keep ===

/// Whether a selector of the affinities to pods is invalid.
pub(super) fn has_invalid_selector(affinity: &Affinity<'_, '_>) -> bool {
    let mut errors = ErrorList::default();
    for affinity in [affinity.pod_affinity(), affinity.pod_anti_affinity().into()] {
        for term in affinity.required_during_scheduling_ignored_during_execution().elements() {
            check_term_selectors(&term, false, &mut errors);
        }
        for preferred in affinity.preferred_during_scheduling_ignored_during_execution().elements() {
            check_term_selectors(&preferred.pod_affinity_term(), false, &mut errors);
        }
    }
    !errors.is_empty()
}

/// Whether the required affinity to nodes has a value that is not a label.
pub(super) fn has_invalid_node_value(affinity: &Affinity<'_, '_>) -> bool {
    let affinity = affinity.node_affinity();
    node_selector::has_invalid_value(&affinity.required_during_scheduling_ignored_during_execution())
}
