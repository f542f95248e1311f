//! Rules of CronJobs.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::ObjectStrategy;

use super::schedule;
use crate::batch::job_spec;
use crate::core::pod_spec::{defaults, warnings};
use crate::support::defaulting::fill_at;
use crate::support::field::Field;

/// A job's name is the CronJob's with eleven more characters, and must be a valid label value.
const MAX_NAME_CHARACTERS: usize = 52;

/// Defaults and validation.
pub(super) struct CronJobStrategy;

impl ObjectStrategy for CronJobStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "concurrencyPolicy"], "Allow");
        fill_at(object, &["spec", "suspend"], false);
        fill_at(object, &["spec", "successfulJobsHistoryLimit"], 3);
        fill_at(object, &["spec", "failedJobsHistoryLimit"], 1);
        defaults::apply_to_template(object, &["spec", "jobTemplate", "spec", "template"]);
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_new_workload(object, &["spec", "jobTemplate", "spec", "template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::of_changed_workload(new, old, &["spec", "jobTemplate", "spec", "template"])
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = self.validate_update(context, object, object);
        if object.name().len() > MAX_NAME_CHARACTERS {
            let path = FieldPath::new("metadata").child("name");
            let detail = format!("must be no more than {MAX_NAME_CHARACTERS} characters");
            errors.push(FieldError::invalid(path, object.name(), detail));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(new, "spec");
        let written = spec.get("schedule");
        let zone = spec.get("timeZone");
        if written.text().is_empty() {
            errors.push(written.required(""));
        } else if written.text().contains("TZ") {
            errors.push(written.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
        } else if let Err(complaint) = schedule::check(written.text()) {
            errors.push(written.invalid(complaint));
        }
        if zone.exists() {
            check_zone(&zone, &mut errors);
        }
        for number in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
            spec.get(number).check_not_negative(&mut errors);
        }
        spec.get("concurrencyPolicy").check_one_of(&["Allow", "Forbid", "Replace"], &mut errors);
        let template = spec.get("jobTemplate");
        let job = template.get("spec");
        if job.get("manualSelector").is_true() {
            errors.push(job.get("manualSelector").unsupported(&["nil", "false"]));
        }
        job_spec::validate(context, &job, &mut errors);
        errors
    }
}

fn check_zone(zone: &Field<'_, '_>, errors: &mut ErrorList) {
    match zone.text() {
        "" => errors.push(zone.invalid("timeZone must be nil or non-empty string")),
        name if name.eq_ignore_ascii_case("local") => {
            errors.push(zone.invalid(
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            ));
        }
        name if jiff::tz::TimeZone::get(name).is_err() => {
            errors.push(zone.invalid(format!("unknown time zone {name}")));
        }
        _ => {}
    }
}
