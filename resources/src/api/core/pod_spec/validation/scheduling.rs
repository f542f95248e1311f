//! Tolerations, topology spread, scheduling and readiness gates.

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, go_text};
use resource_views::core::v1::{PodReadinessGate, PodSchedulingGate, Toleration, TopologySpreadConstraint};
use resource_views::{List, Text};

use super::{Options, affinity};
use crate::support::label_selector;

const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

// === tolerations ===

/// Checks tolerations.
pub(crate) fn check_tolerations(
    tolerations: &List<Toleration<'_, '_>>,
    options: &Options,
    errors: &mut ErrorList,
) {
    for toleration in tolerations.elements() {
        check_toleration(&toleration, options, errors);
    }
}

fn check_toleration(toleration: &Toleration<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let key = toleration.key();
    let operator = toleration.operator();
    let effect = toleration.effect();
    key.check_if_set(names::qualified_name, errors);
    if key.text().is_empty() && operator.text() != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(operator.invalid_text(detail));
    }
    if toleration.toleration_seconds().exists() && effect.text() != "NoExecute" {
        errors.push(effect.invalid_text("effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    check_tolerated_value(toleration, options, errors);
    if !effect.text().is_empty() {
        effect.check_one_of(EFFECTS, errors);
    }
}

fn check_tolerated_value(toleration: &Toleration<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let operator = toleration.operator();
    let value = toleration.value();
    match operator.text() {
        "Equal" | "" => {
            let complaints = names::label_value(value.text());
            if !complaints.is_empty() {
                errors.push(FieldError::invalid(operator.path(), value.text(), complaints.join(";")));
            }
        }
        "Exists" if !value.text().is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(operator.path(), value.text(), detail));
        }
        "Exists" => {}
        "Lt" | "Gt" if !options.tolerates_comparisons => {
            errors.push(operator.unsupported(&["Equal", "Exists", "Lt", "Gt"]));
        }
        "Lt" | "Gt" => check_compared_value(&value, errors),
        _ => errors.push(operator.unsupported(&["Equal", "Exists"])),
    }
}

/// Checks a value that is compared as a number.
fn check_compared_value(value: &Text<'_, '_>, errors: &mut ErrorList) {
    let text = value.text();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_number && (digits == text && digits == "0" || !digits.starts_with('0'));
    if !is_plain {
        let detail = "must be a valid decimal integer in canonical form";
        errors.push(value.invalid_text(detail));
    }
    if let Err(error) = go_text::parse_int(text) {
        errors.push(value.invalid_text(error.to_string()));
    }
}

/// Whether a toleration compares numbers.
pub(super) fn has_comparison(tolerations: &List<Toleration<'_, '_>>) -> bool {
    tolerations.elements().any(|toleration| matches!(toleration.operator().text(), "Lt" | "Gt"))
}

// === topology spread ===

/// Checks the constraints on how pods are spread. Two must not have the same key and action.
pub(super) fn check_spread(
    constraints: &List<TopologySpreadConstraint<'_, '_>>,
    options: &Options,
    errors: &mut ErrorList,
) {
    let pair = |constraint: &TopologySpreadConstraint<'_, '_>| {
        (constraint.topology_key().text().to_owned(), constraint.when_unsatisfiable().text().to_owned())
    };
    if constraints.is_empty() {
        return;
    }
    let last: HashMap<_, usize> =
        constraints.elements().enumerate().map(|(place, constraint)| (pair(&constraint), place)).collect();
    for (place, constraint) in constraints.elements().enumerate() {
        let key = constraint.topology_key();
        let action = constraint.when_unsatisfiable();
        constraint.max_skew().check_positive(errors);
        if key.text().is_empty() {
            errors.push(key.required("can not be empty"));
        }
        if !ACTIONS.contains(&action.text()) {
            errors.push(action.unsupported(ACTIONS));
        }
        if last.get(&pair(&constraint)).is_some_and(|last| *last > place) {
            let path = constraint.path().child("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(path, format!("{{{}, {}}}", key.text(), action.text())));
        }
        check_domains(&constraint, errors);
        for policy in [constraint.node_affinity_policy(), constraint.node_taints_policy()] {
            policy.check_one_of(&["Honor", "Ignore"], errors);
        }
        if options.tolerates_match_label_keys {
            check_keys_strictly(&constraint, errors);
        } else {
            check_matched_keys(&constraint, errors);
        }
        if !options.tolerates_spread_selectors {
            label_selector::check(&constraint.label_selector(), errors);
        }
    }
}

fn check_domains(constraint: &TopologySpreadConstraint<'_, '_>, errors: &mut ErrorList) {
    let domains = constraint.min_domains();
    if !domains.exists() {
        return;
    }
    domains.check_positive(errors);
    let action = constraint.when_unsatisfiable().text();
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.push(domains.invalid(detail));
    }
}

/// Checks `matchLabelKeys`; a constraint has no `mismatchLabelKeys`.
fn check_matched_keys(constraint: &TopologySpreadConstraint<'_, '_>, errors: &mut ErrorList) {
    let (matched, selector) = (constraint.match_label_keys(), constraint.label_selector());
    affinity::check_label_keys(&matched, &selector, errors);
    affinity::check_selected_once(constraint, &matched, &selector, errors);
}

/// Checks `matchLabelKeys` as servers did that did not add them to the selector.
fn check_keys_strictly(constraint: &TopologySpreadConstraint<'_, '_>, errors: &mut ErrorList) {
    let keys = constraint.match_label_keys();
    if keys.is_empty() {
        return;
    }
    let selector = constraint.label_selector();
    if !selector.exists() {
        errors.push(keys.forbidden("must not be specified when labelSelector is not set"));
    }
    let labels = selector.match_labels();
    let mut selected: HashSet<&str> = labels.entries().map(|(key, _)| key).collect();
    selected.extend(selector.match_expressions().elements().map(|requirement| requirement.key().text()));
    for key in keys.elements() {
        key.check(names::qualified_name, errors);
        if selected.contains(key.text()) {
            errors.push(key.invalid("exists in both matchLabelKeys and labelSelector"));
        }
    }
}

/// Whether a constraint has an invalid selector.
pub(super) fn has_invalid_selector(constraints: &List<TopologySpreadConstraint<'_, '_>>) -> bool {
    let mut errors = ErrorList::default();
    for constraint in constraints.elements() {
        label_selector::check(&constraint.label_selector(), &mut errors);
    }
    !errors.is_empty()
}

/// Whether a constraint has invalid `matchLabelKeys`.
pub(super) fn has_invalid_keys(constraints: &List<TopologySpreadConstraint<'_, '_>>) -> bool {
    let mut errors = ErrorList::default();
    for constraint in constraints.elements() {
        check_matched_keys(&constraint, &mut errors);
    }
    !errors.is_empty()
}

// === gates ===

/// Checks the conditions that a pod needs to be ready.
pub(super) fn check_readiness_gates(gates: &List<PodReadinessGate<'_, '_>>, errors: &mut ErrorList) {
    for gate in gates.elements() {
        gate.condition_type().check(names::qualified_name, errors);
    }
}

/// Checks the gates that keep a pod from being scheduled.
pub(super) fn check_scheduling_gates(gates: &List<PodSchedulingGate<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for gate in gates.elements() {
        let name = gate.name().text();
        for complaint in names::qualified_name(name) {
            errors.push(FieldError::invalid(gate.path(), name, complaint));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(gate.path(), name));
        }
    }
}
