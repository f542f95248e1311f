//! Validation of a job spec, of a job or of the template of a CronJob.

mod failure_policy;
pub(crate) mod indexes;
mod success_policy;

pub(crate) use failure_policy::without_value;

use registry_core::RequestContext;
use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::Text;
use resource_views::batch::v1::{JobSpec, JobSpecMut};
use resource_views::core::v1::PodTemplateSpec;

use crate::api::core::pod_spec::{validation, warnings};

/// Maximum length of the name of a controller that manages jobs, in bytes.
const MAX_MANAGER_BYTES: usize = 63;
/// Maximum parallelism, and maximum number of failed indexes, of an indexed job.
const MAX_INDEXED: i64 = 100_000;
/// The number of completions above which the next limit holds.
const MANY_COMPLETIONS: i64 = 100_000;
/// Maximum parallelism, and maximum number of failed indexes, of a job with many completions.
const MAX_WITH_MANY_COMPLETIONS: i64 = 10_000;

/// Sets the defaults of the conditions of a failure policy in a job spec.
pub(super) fn default_failure_policy(spec: &mut JobSpecMut<'_>) {
    let Some(mut policy) = spec.pod_failure_policy().present() else { return };
    for mut rule in policy.rules().elements() {
        for mut pattern in rule.on_pod_conditions().elements() {
            pattern.status().or("True");
        }
    }
}

/// Checks the spec except for its selector; `old` is what it was, if it changes.
pub(crate) fn validate(
    context: &RequestContext,
    spec: &JobSpec<'_, '_>,
    old: Option<&JobSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    for number in [
        spec.parallelism(),
        spec.completions(),
        spec.active_deadline_seconds(),
        spec.backoff_limit(),
        spec.ttl_seconds_after_finished(),
        spec.backoff_limit_per_index(),
        spec.max_failed_indexes(),
    ] {
        number.check_not_negative(errors);
    }
    let per_index = spec.backoff_limit_per_index();
    if spec.max_failed_indexes().exists() && !per_index.exists() {
        errors.push(per_index.required("when maxFailedIndexes is specified"));
    }
    check_manager(&spec.managed_by(), errors);
    check_completion_mode(spec, errors);
    failure_policy::check(spec, errors);
    success_policy::check(spec, errors);
    let failure = spec.pod_failure_policy();
    let accepted: &[&str] = if failure.exists() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    spec.pod_replacement_policy().check_one_of(accepted, errors);
    let template = spec.template();
    validation::check_template(context, &template, old.map(JobSpec::template).as_ref(), errors);
    check_restarts(&template, failure.exists(), errors);
}

/// Checks the name of the controller of a job: a domain and a path.
fn check_manager(manager: &Text<'_, '_>, errors: &mut ErrorList) {
    if !manager.exists() {
        return;
    }
    if manager.check_present(errors) {
        match manager.text().split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty()) {
            None => {
                errors.push(manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"));
            }
            Some((domain, path)) => {
                for complaint in names::dns_subdomain(domain) {
                    errors.push(FieldError::invalid(manager.path(), domain, complaint));
                }
                let is_good =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"/%:-._~!$&'()*+,;=".contains(&byte);
                if !path.bytes().all(is_good) {
                    let detail =
                        r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
                    errors.push(FieldError::invalid(manager.path(), path, detail));
                }
            }
        }
    }
    manager.check_length(MAX_MANAGER_BYTES, errors);
}

/// Checks what the completion mode demands or excludes.
fn check_completion_mode(spec: &JobSpec<'_, '_>, errors: &mut ErrorList) {
    let mode = spec.completion_mode();
    mode.check_one_of(&["NonIndexed", "Indexed"], errors);
    if mode.text() == "Indexed" {
        check_indexed(spec, errors);
    } else if !mode.exists() || mode.text() == "NonIndexed" {
        for field in [spec.backoff_limit_per_index(), spec.max_failed_indexes()] {
            if field.exists() {
                errors.push(field.invalid("requires indexed completion mode"));
            }
        }
    }
}

fn check_indexed(spec: &JobSpec<'_, '_>, errors: &mut ErrorList) {
    let completions = spec.completions();
    let parallelism = spec.parallelism();
    let failed = spec.max_failed_indexes();
    if !completions.exists() {
        errors.push(completions.required("when completion mode is Indexed"));
    }
    if parallelism.number() > MAX_INDEXED {
        let detail = format!("must be less than or equal to {MAX_INDEXED} when completion mode is Indexed");
        errors.push(parallelism.invalid(detail));
    }
    if completions.exists() && failed.exists() && failed.number() > completions.number() {
        errors.push(failed.invalid("must be less than or equal to completions"));
    }
    if failed.number() > MAX_INDEXED {
        errors.push(failed.invalid(format!("must be less than or equal to {MAX_INDEXED}")));
    }
    if completions.number() <= MANY_COMPLETIONS || !spec.backoff_limit_per_index().exists() {
        return;
    }
    if !failed.exists() {
        errors
            .push(failed.required(format!("must be specified when completions is above {MANY_COMPLETIONS}")));
    }
    for field in [&parallelism, &failed] {
        if field.number() > MAX_WITH_MANY_COMPLETIONS {
            errors.push(field.invalid(format!(
                "must be less than or equal to {MAX_WITH_MANY_COMPLETIONS} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
            )));
        }
    }
}

/// Checks that the pods of a job terminate.
fn check_restarts(template: &PodTemplateSpec<'_, '_>, has_failure_policy: bool, errors: &mut ErrorList) {
    let pod = template.spec();
    let policy = pod.restart_policy();
    match policy.text() {
        "Never" => {}
        "OnFailure" if has_failure_policy => {
            errors.push(policy.invalid("only \"Never\" is supported when podFailurePolicy is specified"));
        }
        "OnFailure" => {}
        "" | "Always" => errors.push(policy.required("valid values: \"OnFailure\", \"Never\"")),
        _ => errors.push(policy.unsupported(&["OnFailure", "Never"])),
    }
}

/// Warns about a job spec and its template.
pub(crate) fn warn(spec: &JobSpec<'_, '_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if spec.completion_mode().text() == "Indexed"
        && spec.completions().number() > MANY_COMPLETIONS
        && spec.parallelism().number() > MAX_WITH_MANY_COMPLETIONS
    {
        warnings.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
            spec.path()
        ));
    }
    warnings.extend(warnings::template_warnings(&spec.template()));
    warnings
}
