//! Rules of the status of a job. Those about a part of it hold once that part changes, so that what older servers stored
//! can be updated.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object, time};
use serde_json::Value;

use crate::api::batch::job_spec::{indexes, without_value};
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::semantic;

/// A job before or after a change.
struct State<'v> {
    job: &'v Object,
}

impl<'v> State<'v> {
    fn get(&self, field: &str) -> Option<&'v Value> {
        self.job.get(&["status", field])
    }

    fn spec(&self, field: &str) -> Option<&'v Value> {
        self.job.get(&["spec", field])
    }

    fn number(&self, field: &str) -> i64 {
        self.get(field).and_then(Value::as_i64).unwrap_or_default()
    }

    fn text(&self, field: &str) -> &'v str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn has(&self, kind: &str, status: &str) -> bool {
        let conditions = self.get("conditions").and_then(Value::as_array).into_iter().flatten();
        let mut conditions = conditions.map(|condition| (condition.get("type"), condition.get("status")));
        conditions.any(|(its_kind, its_status)| {
            its_kind.and_then(Value::as_str) == Some(kind)
                && its_status.and_then(Value::as_str) == Some(status)
        })
    }

    fn is(&self, kind: &str) -> bool {
        self.has(kind, "True")
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn is_indexed(&self) -> bool {
        self.spec("completionMode").and_then(Value::as_str) == Some("Indexed")
    }
}

/// The old and the new status, which answers whether a part differs.
struct Change<'v> {
    new: State<'v>,
    old: State<'v>,
}

impl Change<'_> {
    fn changes_field(&self, field: &str) -> bool {
        !semantic::equal(self.new.get(field), self.old.get(field))
    }

    fn changes_condition(&self, kind: &str) -> bool {
        self.new.is(kind) != self.old.is(kind)
    }

    fn changes_finish(&self) -> bool {
        self.new.is_finished() != self.old.is_finished()
    }
}

/// Checks a change of the status.
pub(super) fn check(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let status = Field::top_level(new, "status");
    for count in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(count).check_not_negative(&mut errors);
    }
    let change = Change { new: State { job: new }, old: State { job: old } };
    check_uncounted(&status.get("uncountedTerminatedPods"), &mut errors);
    check_end(&change, &status, &mut errors);
    check_finished(&change, &status, &mut errors);
    check_indexes(&change, &status, &mut errors);
    check_counts(&change, &status, &mut errors);
    check_success(&change.new, &status, &mut errors);
    check_kept(&change, &status, &mut errors);
    errors
}

fn check_uncounted(uncounted: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        for uid in uncounted.get(list).elements() {
            if uid.text().is_empty() {
                errors.push(uid.invalid("must not be empty"));
            } else if !seen.insert(uid.text()) {
                errors.push(uid.duplicate());
            }
        }
    }
}

fn push_condition(status: &Field<'_, '_>, detail: &str, errors: &mut ErrorList) {
    errors.push(without_value(&status.get("conditions"), detail));
}

/// Checks the conditions that end a job against each other and against its times.
fn check_end(change: &Change<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    let completed = change.changes_condition("Complete");
    let (is_complete, is_failed) = (new.is("Complete"), new.is("Failed"));
    if (completed || change.changes_condition("Failed")) && is_complete && is_failed {
        push_condition(status, "cannot set Complete=True and Failed=true conditions", errors);
    }
    if (completed || change.changes_condition("FailureTarget")) && is_complete && new.is("FailureTarget") {
        push_condition(status, "cannot set Complete=True and FailureTarget=true conditions", errors);
    }
    let end = status.get("completionTime");
    if completed || change.changes_field("completionTime") {
        if end.exists() && !is_complete {
            errors.push(end.invalid("cannot set completionTime when there is no Complete=True condition"));
        }
        if !end.exists() && is_complete {
            errors.push(end.required("completionTime is required for Complete jobs"));
        }
    }
    if change.changes_field("startTime") || change.changes_field("completionTime") {
        let (start, finish) = (time::parse(new.text("startTime")), time::parse(end.text()));
        if start.zip(finish).is_some_and(|(start, finish)| finish < start) {
            errors.push(end.invalid("must be equal to or after `startTime`"));
        }
    }
    let fails = change.changes_condition("Failed") || change.changes_field("failedIndexes");
    if fails && is_failed && !new.is("FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        push_condition(status, detail, errors);
    }
    let succeeds = completed || change.changes_condition("SuccessCriteriaMet");
    if succeeds && is_complete && !new.is("SuccessCriteriaMet") {
        let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        push_condition(status, detail, errors);
    }
}

/// Checks that a finished job has ended.
fn check_finished(change: &Change<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    if !new.is_finished() {
        return;
    }
    let ends = change.changes_finish();
    let active = status.get("active");
    if (ends || change.changes_field("active")) && active.number() > 0 {
        errors.push(active.invalid("active>0 is invalid for finished job"));
    }
    let is_suspended = new.spec("suspend") == Some(&Value::Bool(true));
    let never_starts = is_suspended && new.spec("completions").and_then(Value::as_i64) == Some(0);
    let start = status.get("startTime");
    if (ends || change.changes_field("startTime")) && !never_starts && !start.exists() {
        errors.push(start.required("startTime is required for finished job"));
    }
    let uncounted = status.get("uncountedTerminatedPods");
    let count = uncounted.get("failed").len() + uncounted.get("succeeded").len();
    if (ends || change.changes_field("uncountedTerminatedPods")) && count > 0 {
        errors
            .push(uncounted.invalid_as("<batch.UncountedTerminatedPods>", "must be empty for finished job"));
    }
}

fn check_indexes(change: &Change<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    let completions = new.spec("completions").and_then(Value::as_i64);
    let completed = status.get("completedIndexes");
    let failed = status.get("failedIndexes");
    let has_limit = new.spec("backoffLimitPerIndex").is_some();
    let (completes, fails) =
        (change.changes_field("completedIndexes"), change.changes_field("failedIndexes"));
    let check = |list: &Field<'_, '_>, name: &str, errors: &mut ErrorList| {
        let outcome = completions.map(|completions| indexes::count(list.text(), completions));
        if let Some(Err(complaint)) = outcome {
            errors.push(list.invalid_text(format!("error parsing {name}: {complaint}")));
        }
    };
    if completes {
        check(&completed, "completedIndexes", errors);
    }
    if fails && has_limit && failed.exists() {
        check(&failed, "failedIndexes", errors);
    }
    if completes && !completed.text().is_empty() && !new.is_indexed() {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(completed.invalid(detail));
    }
    if fails && failed.exists() && !has_limit {
        errors.push(failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null"));
    }
    let overlap = completions
        .filter(|_| (completes || fails) && failed.exists())
        .and_then(|completions| indexes::overlap(completed.text(), failed.text(), completions));
    if let Some(complaint) = overlap {
        errors.push(failed.invalid(complaint));
    }
}

fn check_counts(change: &Change<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let terminating = status.get("terminating");
    let ends = change.changes_finish() || change.changes_field("terminating");
    if ends && change.new.is_finished() && terminating.number() > 0 {
        errors.push(terminating.invalid("terminating>0 is invalid for finished job"));
    }
    let ready = status.get("ready");
    let is_checked = change.changes_field("ready") || change.changes_field("active");
    if is_checked && ready.integer().is_some_and(|ready| ready > change.new.number("active")) {
        errors.push(ready.invalid("cannot set more ready pods than active"));
    }
}

fn check_success(new: &State<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let is_met = new.is("SuccessCriteriaMet");
    for (contrary, detail) in [
        ("Failed", "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        ("FailureTarget", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    ] {
        if is_met && new.is(contrary) {
            push_condition(status, detail, errors);
        }
    }
    if new.spec("successPolicy").is_some() && !is_met && new.is("Complete") {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        push_condition(status, detail, errors);
    }
}

/// Checks that the job does not go back.
fn check_kept(change: &Change<'_>, status: &Field<'_, '_>, errors: &mut ErrorList) {
    let (new, old) = (&change.new, &change.old);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if old.is(kind) && !new.is(kind) {
            push_condition(status, &format!("cannot disable the terminal {kind}=True condition"), errors);
        }
    }
    let is_elastic = new.is_indexed() && semantic::equal(new.spec("completions"), new.spec("parallelism"));
    for (count, applies) in [("failed", true), ("succeeded", !is_elastic)] {
        if applies && new.number(count) < old.number(count) {
            let detail = format!("cannot decrease the {count} counter");
            let path = status.get(count).path();
            errors.push(FieldError::invalid(path, new.number(count), detail));
        }
    }
    let end = status.get("completionTime");
    if end.exists() && old.get("completionTime").is_some() && change.changes_field("completionTime") {
        errors.push(end.invalid("field is immutable"));
    }
    let is_resuming = old.is("Suspended") && new.has("Suspended", "False");
    let is_suspended = new.spec("suspend") == Some(&Value::Bool(true));
    if change.changes_field("startTime") && !is_resuming && old.get("startTime").is_some() && !is_suspended {
        errors.push(status.get("startTime").invalid("field is immutable for unsuspended job once set"));
    }
    let (was_met, is_met) = (old.is("SuccessCriteriaMet"), new.is("SuccessCriteriaMet"));
    if was_met && !is_met {
        push_condition(status, "cannot disable the SuccessCriteriaMet=True condition", errors);
    }
    if old.is("Complete") && !was_met && is_met {
        let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        push_condition(status, detail, errors);
    }
}
