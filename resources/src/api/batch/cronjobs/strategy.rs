//! Rules of CronJobs.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::Text;
use resource_views::batch::v1::{CronJob, CronJobMut, CronJobSpec, JobTemplateSpec};

use super::schedule::{self, ScheduleError};
use crate::api::batch::job_spec;
use crate::api::core::pod_spec::{defaults, gated, warnings};
use crate::support::field::ShownAsGo as _;

/// A job's name is the CronJob's with eleven more characters, and must be a valid label value.
const MAX_NAME_CHARACTERS: usize = 52;

/// Defaults and validation.
pub(super) struct CronJobStrategy;

impl ObjectStrategy for CronJobStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        gated::spec("spec.jobTemplate.spec.template.spec")
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = CronJobMut(object).spec().or_new();
        spec.concurrency_policy().or("Allow");
        spec.suspend().or(false);
        spec.successful_jobs_history_limit().or(3);
        spec.failed_jobs_history_limit().or(1);
        if let Some(mut template) = spec.job_template().present()
            && let Some(mut job) = template.spec().present()
        {
            job_spec::default_failure_policy(&mut job);
            defaults::apply_to_template(job.template());
        }
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::name_warnings(object, "Pod names and hostnames");
        warnings.extend(job_spec::warn(&CronJob(object).spec().job_template().spec()));
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        let is_same = new.generation() == old.generation();
        let mut warnings =
            if is_same { Vec::new() } else { job_spec::warn(&CronJob(new).spec().job_template().spec()) };
        if CronJob(new).spec().schedule().text().contains("TZ") {
            warnings.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
        }
        warnings
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(context, &CronJob(object).spec(), None, &mut errors);
        if object.name().len() > MAX_NAME_CHARACTERS {
            let path = FieldPath::new("metadata").child("name");
            let detail = format!("must be no more than {MAX_NAME_CHARACTERS} characters");
            errors.push(FieldError::invalid(path, object.name(), detail));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let before = CronJob(old).spec();
        check_spec(context, &CronJob(new).spec(), Some(&before), &mut errors);
        errors
    }
}

fn check_spec(
    context: &RequestContext,
    spec: &CronJobSpec<'_, '_>,
    old: Option<&CronJobSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    let zone = spec.time_zone();
    check_schedule(&spec.schedule(), zone.exists(), old, errors);
    spec.starting_deadline_seconds().check_not_negative(errors);
    if zone.exists() && old.is_none_or(|old| old.time_zone().value() != zone.value()) {
        check_zone(&zone, errors);
    }
    let policy = spec.concurrency_policy();
    policy.check_word(&["Allow", "Forbid", "Replace"], errors);
    let template = spec.job_template();
    let job = template.spec();
    let old = old.map(CronJobSpec::job_template);
    job_spec::validate(context, &job, old.as_ref().map(JobTemplateSpec::spec).as_ref(), errors);
    let selector = job.selector();
    if selector.exists() {
        errors.push(selector.invalid_as("<metav1.LabelSelector>", "`selector` will be auto-generated"));
    }
    let manual = job.manual_selector();
    if manual.is_true() {
        errors.push(manual.unsupported(&["nil", "false"]));
    }
    spec.successful_jobs_history_limit().check_not_negative(errors);
    spec.failed_jobs_history_limit().check_not_negative(errors);
}

/// Checks the schedule. A time zone in it is only tolerated where there was one before.
fn check_schedule(
    written: &Text<'_, '_>,
    has_zone: bool,
    old: Option<&CronJobSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    if !written.check_present(errors) {
        return;
    }
    let text = written.text();
    let names_zone = text.contains("TZ");
    let starts_with_zone = text.starts_with("TZ=") || text.starts_with("CRON_TZ=");
    let checked = match text.split_once(' ') {
        Some((_, rest)) if starts_with_zone => schedule::check(rest.trim_start()),
        // Kubernetes reports the panic of its parser.
        None if starts_with_zone => Err(ScheduleError::ZoneAlone),
        _ => schedule::check(text),
    };
    if let Err(error) = checked {
        errors.push(written.invalid(error.to_string()));
    }
    let tolerates = old.is_some_and(|old| old.schedule().text().contains("TZ"));
    if names_zone && tolerates && has_zone {
        errors.push(written.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule"));
    } else if names_zone && !tolerates {
        errors.push(written.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    }
}

fn check_zone(zone: &Text<'_, '_>, errors: &mut ErrorList) {
    let name = zone.text();
    if name.is_empty() {
        errors.push(zone.invalid("timeZone must be nil or non-empty string"));
        return;
    }
    let is_local = name.eq_ignore_ascii_case("local");
    if is_local {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(zone.invalid(detail));
    }
    // The name `Local` is read, in other cases it is a zone like others.
    if name != "Local" && (is_local || jiff::tz::TimeZone::get(name).is_err()) {
        errors.push(zone.invalid(format!("unknown time zone {name}")));
    }
}
