//! Validation of a job spec, of a job or of the template of a CronJob.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use crate::core::pod_spec::validation;
use crate::support::field::Field;
use crate::support::go_text::GoShape;

/// The form of a success policy in messages. Its rules are never null.
const SUCCESS_POLICY: GoShape = GoShape::Struct(&[("Rules", "rules", GoShape::Plain("[]"))]);

/// Checks the spec except for its selector.
pub(crate) fn validate(context: &RequestContext, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    for number in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.get(number).check_not_negative(errors);
    }
    let mode = spec.get("completionMode");
    mode.check_one_of(&["NonIndexed", "Indexed"], errors);
    let indexed = mode.text() == "Indexed";
    if indexed && !spec.get("completions").exists() {
        errors.push(spec.get("completions").required("when completion mode is Indexed"));
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
        let field = spec.get(field);
        if !indexed && field.exists() {
            let error = field.invalid("requires indexed completion mode");
            errors.push(match field.value() {
                Some(value) if value.is_object() => error.shown_as(field.go_text(SUCCESS_POLICY)),
                _ => error,
            });
        }
    }
    let success = spec.get("successPolicy");
    if indexed && success.exists() && success.get("rules").is_empty() {
        errors.push(
            success
                .get("rules")
                .required("at least one rules must be specified when the successPolicy is specified"),
        );
    }
    let failure = spec.get("podFailurePolicy");
    let accepted: &[&str] = if failure.exists() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    spec.get("podReplacementPolicy").check_one_of(accepted, errors);
    for rule in failure.get("rules").elements() {
        check_failure_rule(&rule, errors);
    }
    check_template(context, spec, failure.exists(), errors);
}

/// Checks that a rule matches exit codes or conditions, and has an action.
fn check_failure_rule(rule: &Field<'_, '_>, errors: &mut ErrorList) {
    const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    let action = rule.get("action");
    let codes = rule.get("onExitCodes");
    let conditions = rule.get("onPodConditions");
    if action.text().is_empty() {
        errors.push(action.required(format!("valid values: {}", quoted(&ACTIONS))));
    } else {
        action.check_one_of(&ACTIONS, errors);
    }
    match (codes.exists(), !conditions.is_empty()) {
        (true, true) => {
            let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
            errors.push(FieldError::invalid(rule.path(), "", detail));
        }
        (false, false) => {
            let detail = "specifying one of OnExitCodes and OnPodConditions is required";
            errors.push(FieldError::invalid(rule.path(), "", detail));
        }
        _ => {}
    }
    if codes.exists() {
        check_exit_codes(&codes, errors);
    }
    for condition in conditions.elements() {
        condition.get("type").check(names::qualified_name, errors);
        let status = condition.get("status");
        if status.check_present(errors) {
            status.check_one_of(&["False", "True", "Unknown"], errors);
        }
    }
}

fn check_exit_codes(codes: &Field<'_, '_>, errors: &mut ErrorList) {
    const MAX_CODES: usize = 255;
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    let operator = codes.get("operator");
    let values = codes.get("values");
    if operator.text().is_empty() {
        errors.push(operator.required(format!("valid values: {}", quoted(&OPERATORS))));
    } else {
        operator.check_one_of(&OPERATORS, errors);
    }
    if values.is_empty() {
        errors.push(values.invalid("at least one value is required"));
    } else if values.len() > MAX_CODES {
        errors.push(FieldError::too_many(values.path(), values.len(), MAX_CODES));
    }
    let mut before: Option<i64> = None;
    let mut is_ordered = true;
    let mut seen = HashSet::new();
    for value in values.elements() {
        let code = value.integer().unwrap_or_default();
        if operator.text() == "In" && code == 0 {
            errors.push(value.invalid("must not be 0 for the In operator"));
        }
        if seen.contains(&code) {
            errors.push(value.duplicate());
        }
        seen.insert(code);
        is_ordered &= before.is_none_or(|before| before <= code);
        before = Some(code);
    }
    if !is_ordered {
        errors.push(values.invalid("must be ordered"));
    }
}

fn quoted(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
}

/// Checks a template of pods that terminate.
fn check_template(
    context: &RequestContext,
    spec: &Field<'_, '_>,
    has_failure_policy: bool,
    errors: &mut ErrorList,
) {
    let template = spec.get("template");
    validation::check_template(context, &template, None, errors);
    let pod = template.get("spec");
    let policy = pod.get("restartPolicy");
    let detail = "valid values: \"OnFailure\", \"Never\"";
    match policy.text() {
        "Never" => {}
        "OnFailure" if has_failure_policy => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(policy.invalid(detail));
        }
        "OnFailure" => {}
        "" | "Always" => errors.push(policy.required(detail)),
        _ => errors.push(policy.unsupported(&["OnFailure", "Never"])),
    }
}
