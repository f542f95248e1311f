//! Rules of the status of a job. Those about a part of it hold once that part changes, so that what older servers stored
//! can be updated.

use std::collections::HashSet;

use registry_core::api::time::moment::{Layout, Moment};
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use resource_views::Text;
use resource_views::batch::v1::{Job, JobSpec, JobStatus, UncountedTerminatedPods};

use crate::api::batch::job_spec::{indexes, without_value};
use crate::support::field::ShownAsGo as _;
use crate::support::semantic;

/// A job before or after a change.
#[derive(Clone, Copy)]
struct State<'v, 'p> {
    spec: JobSpec<'v, 'p>,
    status: JobStatus<'v, 'p>,
}

impl<'v> State<'v, '_> {
    fn new(job: &'v Object) -> Self {
        Self { spec: Job(job).spec(), status: Job(job).status() }
    }

    fn has(&self, kind: &str, status: &str) -> bool {
        let conditions = self.status.conditions();
        conditions
            .elements()
            .any(|condition| condition.r#type().text() == kind && condition.status().text() == status)
    }

    fn is(&self, kind: &str) -> bool {
        self.has(kind, "True")
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn is_indexed(&self) -> bool {
        self.spec.completion_mode().text() == "Indexed"
    }
}

/// The old and the new status, which answers whether a part differs.
struct Change<'v, 'p> {
    new: State<'v, 'p>,
    old: State<'v, 'p>,
}

/// Declares whether fields of the status change.
macro_rules! changes {
    ($($changes:ident: $field:ident;)*) => {
        $(
            fn $changes(&self) -> bool {
                semantic::differ(&self.new.status.$field(), &self.old.status.$field())
            }
        )*
    };
}

impl Change<'_, '_> {
    changes! {
        changes_active: active;
        changes_completed_indexes: completed_indexes;
        changes_completion_time: completion_time;
        changes_failed_indexes: failed_indexes;
        changes_ready: ready;
        changes_start_time: start_time;
        changes_terminating: terminating;
        changes_uncounted: uncounted_terminated_pods;
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
    let status = Job(new).status();
    for count in [status.active(), status.succeeded(), status.failed(), status.ready(), status.terminating()]
    {
        count.check_not_negative(&mut errors);
    }
    let change = Change { new: State::new(new), old: State::new(old) };
    check_uncounted(&status.uncounted_terminated_pods(), &mut errors);
    check_end(&change, &status, &mut errors);
    check_finished(&change, &status, &mut errors);
    check_indexes(&change, &status, &mut errors);
    check_counts(&change, &status, &mut errors);
    check_success(&change.new, &status, &mut errors);
    check_kept(&change, &status, &mut errors);
    errors
}

fn check_uncounted(uncounted: &UncountedTerminatedPods<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for list in [uncounted.succeeded(), uncounted.failed()] {
        for uid in list.elements() {
            if uid.text().is_empty() {
                errors.push(uid.invalid("must not be empty"));
            } else if !seen.insert(uid.text()) {
                errors.push(uid.duplicate());
            }
        }
    }
}

fn push_condition(status: &JobStatus<'_, '_>, detail: &str, errors: &mut ErrorList) {
    errors.push(without_value(&status.conditions(), detail));
}

/// Checks the conditions that end a job against each other and against its times.
fn check_end(change: &Change<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    let completed = change.changes_condition("Complete");
    let (is_complete, is_failed) = (new.is("Complete"), new.is("Failed"));
    if (completed || change.changes_condition("Failed")) && is_complete && is_failed {
        push_condition(status, "cannot set Complete=True and Failed=true conditions", errors);
    }
    if (completed || change.changes_condition("FailureTarget")) && is_complete && new.is("FailureTarget") {
        push_condition(status, "cannot set Complete=True and FailureTarget=true conditions", errors);
    }
    let end = status.completion_time();
    if completed || change.changes_completion_time() {
        if end.exists() && !is_complete {
            errors.push(end.invalid("cannot set completionTime when there is no Complete=True condition"));
        }
        if !end.exists() && is_complete {
            errors.push(end.required("completionTime is required for Complete jobs"));
        }
    }
    if change.changes_start_time() || change.changes_completion_time() {
        let moment = |text: &str| Moment::parse(text, Layout::Seconds).ok();
        let (start, finish) = (moment(status.start_time().text()), moment(end.text()));
        if start.zip(finish).is_some_and(|(start, finish)| finish < start) {
            errors.push(end.invalid("must be equal to or after `startTime`"));
        }
    }
    let fails = change.changes_condition("Failed") || change.changes_failed_indexes();
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
fn check_finished(change: &Change<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    if !new.is_finished() {
        return;
    }
    let ends = change.changes_finish();
    let active = status.active();
    if (ends || change.changes_active()) && active.number() > 0 {
        errors.push(active.invalid("active>0 is invalid for finished job"));
    }
    let is_suspended = new.spec.suspend().is_true();
    let never_starts = is_suspended && new.spec.completions().integer() == Some(0);
    let start = status.start_time();
    if (ends || change.changes_start_time()) && !never_starts && !start.exists() {
        errors.push(start.required("startTime is required for finished job"));
    }
    let uncounted = status.uncounted_terminated_pods();
    let count = uncounted.failed().len() + uncounted.succeeded().len();
    if (ends || change.changes_uncounted()) && count > 0 {
        errors
            .push(uncounted.invalid_as("<batch.UncountedTerminatedPods>", "must be empty for finished job"));
    }
}

fn check_indexes(change: &Change<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let new = &change.new;
    let completions = new.spec.completions().integer();
    let completed = status.completed_indexes();
    let failed = status.failed_indexes();
    let has_limit = new.spec.backoff_limit_per_index().exists();
    let (completes, fails) = (change.changes_completed_indexes(), change.changes_failed_indexes());
    let check = |list: &Text<'_, '_>, name: &str, errors: &mut ErrorList| {
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

fn check_counts(change: &Change<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let terminating = status.terminating();
    let ends = change.changes_finish() || change.changes_terminating();
    if ends && change.new.is_finished() && terminating.number() > 0 {
        errors.push(terminating.invalid("terminating>0 is invalid for finished job"));
    }
    let ready = status.ready();
    let is_checked = change.changes_ready() || change.changes_active();
    if is_checked && ready.integer().is_some_and(|ready| ready > status.active().number()) {
        errors.push(ready.invalid("cannot set more ready pods than active"));
    }
}

fn check_success(new: &State<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let is_met = new.is("SuccessCriteriaMet");
    for (contrary, detail) in [
        ("Failed", "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        ("FailureTarget", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    ] {
        if is_met && new.is(contrary) {
            push_condition(status, detail, errors);
        }
    }
    if new.spec.success_policy().exists() && !is_met && new.is("Complete") {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        push_condition(status, detail, errors);
    }
}

/// Checks that the job does not go back.
fn check_kept(change: &Change<'_, '_>, status: &JobStatus<'_, '_>, errors: &mut ErrorList) {
    let (new, old) = (&change.new, &change.old);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if old.is(kind) && !new.is(kind) {
            push_condition(status, &format!("cannot disable the terminal {kind}=True condition"), errors);
        }
    }
    let is_elastic = new.is_indexed() && !semantic::differ(&new.spec.completions(), &new.spec.parallelism());
    for (count, name, before, applies) in [
        (status.failed(), "failed", old.status.failed(), true),
        (status.succeeded(), "succeeded", old.status.succeeded(), !is_elastic),
    ] {
        if applies && count.number() < before.number() {
            let detail = format!("cannot decrease the {name} counter");
            errors.push(FieldError::invalid(count.path(), count.number(), detail));
        }
    }
    let end = status.completion_time();
    if end.exists() && old.status.completion_time().exists() && change.changes_completion_time() {
        errors.push(end.invalid("field is immutable"));
    }
    let is_resuming = old.is("Suspended") && new.has("Suspended", "False");
    let is_suspended = new.spec.suspend().is_true();
    if change.changes_start_time() && !is_resuming && old.status.start_time().exists() && !is_suspended {
        errors.push(status.start_time().invalid("field is immutable for unsuspended job once set"));
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
