//! What must hold of the spec of a job, its own or in the template of a CronJob.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use crate::apps::workload;
use crate::field::Field;
use crate::go_text::Shape;

/// How messages show a success policy. Its rules are never nothing.
const SUCCESS_POLICY: Shape = Shape::Struct(&[("Rules", "rules", Shape::Plain("[]"))]);

/// Checks the spec, but for its selector.
pub(crate) fn validate(spec: &Field<'_, '_>, errors: &mut ErrorList) {
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
    if indexed && success.exists() && success.get("rules").len() == 0 {
        errors.push(
            success
                .get("rules")
                .required("at least one rules must be specified when the successPolicy is specified"),
        );
    }
    let failure = spec.get("podFailurePolicy");
    let accepted: &[&str] = if failure.exists() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    spec.get("podReplacementPolicy").check_one_of(accepted, errors);
    check_template(spec, failure.exists(), errors);
}

/// Pods of a job end.
fn check_template(spec: &Field<'_, '_>, has_failure_policy: bool, errors: &mut ErrorList) {
    let template = spec.get("template");
    workload::check_any_template(&template, errors);
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
        other => {
            errors.0.retain(|error| error.field != policy.path());
            errors.push(FieldError::not_supported(policy.path(), other, &["OnFailure", "Never"]));
        }
    }
}
