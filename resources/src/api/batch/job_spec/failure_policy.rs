//! The policy by which the failures of pods affect their job.

use std::collections::HashSet;

use registry_core::api::go_text::quoted;
use registry_core::api::validation::{ErrorList, FieldError, FieldErrorKind, names};
use resource_views::batch::v1::{JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule};
use resource_views::{Text, View};

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
/// Maximum number of rules.
const MAX_RULES: usize = 20;
/// Maximum number of exit codes of a rule.
const MAX_CODES: usize = 255;
/// Maximum number of conditions of a rule.
const MAX_CONDITIONS: usize = 20;

/// Checks the failure policy of a job spec.
pub(super) fn check(spec: &JobSpec<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.pod_failure_policy();
    if !policy.exists() {
        return;
    }
    let rules = policy.rules();
    rules.check_count(MAX_RULES, errors);
    let template = spec.template();
    let pod = template.spec();
    let (containers, init) = (pod.containers(), pod.init_containers());
    let names: HashSet<&str> =
        containers.elements().chain(init.elements()).map(|container| container.name().text()).collect();
    let has_limit = spec.backoff_limit_per_index().exists();
    for rule in rules.elements() {
        check_rule(&rule, has_limit, &names, errors);
    }
}

/// Returns what messages call the accepted words.
fn listed(words: &[&str]) -> String {
    format!("valid values: {}", quoted(words))
}

fn check_word(word: &Text<'_, '_>, accepted: &[&str], errors: &mut ErrorList) {
    if word.text().is_empty() {
        errors.push(word.required(listed(accepted)));
    } else {
        word.check_one_of(accepted, errors);
    }
}

/// Checks that a rule matches exit codes or conditions, and has an action.
fn check_rule(
    rule: &PodFailurePolicyRule<'_, '_>,
    has_limit: bool,
    containers: &HashSet<&str>,
    errors: &mut ErrorList,
) {
    let action = rule.action();
    if action.text() == "FailIndex" && !has_limit {
        errors.push(action.invalid("requires the backoffLimitPerIndex to be set"));
    }
    check_word(&action, &ACTIONS, errors);
    let codes = rule.on_exit_codes();
    let conditions = rule.on_pod_conditions();
    if codes.exists() {
        check_exit_codes(&codes, containers, errors);
    }
    conditions.check_count(MAX_CONDITIONS, errors);
    for condition in conditions.elements() {
        condition.r#type().check(names::qualified_name, errors);
        check_word(&condition.status(), &STATUSES, errors);
    }
    let detail = match (codes.exists(), !conditions.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(without_value(rule, detail));
}

/// Returns the error of a value that the message does not show.
pub(crate) fn without_value(field: &View<'_, '_>, detail: &str) -> FieldError {
    FieldError { kind: FieldErrorKind::Invalid, ..field.forbidden(detail) }
}

fn check_exit_codes(
    codes: &PodFailurePolicyOnExitCodesRequirement<'_, '_>,
    containers: &HashSet<&str>,
    errors: &mut ErrorList,
) {
    let operator = codes.operator();
    check_word(&operator, &OPERATORS, errors);
    let container = codes.container_name();
    if container.exists() && !containers.contains(container.text()) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(container.invalid(detail));
    }
    let values = codes.values();
    if values.is_empty() {
        errors.push(values.invalid("at least one value is required"));
    } else {
        values.check_count(MAX_CODES, errors);
    }
    let mut before: Option<i64> = None;
    let mut is_ordered = true;
    let mut seen = HashSet::new();
    for value in values.elements() {
        let code = value.number();
        if operator.text() == "In" && code == 0 {
            errors.push(value.invalid("must not be 0 for the In operator"));
        }
        if !seen.insert(code) {
            errors.push(value.duplicate());
        }
        is_ordered &= before.is_none_or(|before| before <= code);
        before = Some(code);
    }
    if !is_ordered {
        errors.push(values.invalid("must be ordered"));
    }
}
