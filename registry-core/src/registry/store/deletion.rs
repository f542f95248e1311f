//! Decides how to delete one state of an object: immediately, after a grace period, or when its finalizers are gone.
//!
//! Kubernetes concept: `rest.BeforeDelete`, `deletionFinalizersForGarbageCollection`, `markAsDeleting`.

use jiff::{SignedDuration, Timestamp};

use crate::api::validation::object_meta::{FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use crate::api::{DeleteOptions, GroupResource, Object, PropagationPolicy, StatusError, time};
use crate::context::RequestContext;
use crate::resource::Deletion;

use super::Store;

/// The action for one state of an object.
pub(super) enum DeletionStep {
    /// A deletion is in progress and ends no later than requested.
    Pending,
    /// Remove it.
    Remove,
    /// Write the object; it remains until its grace period is over and its finalizers are gone.
    Mark(Object),
    /// Write the object so that watchers see the deletion, then remove it.
    MarkAndRemove(Object),
}

/// State of an object's grace period.
enum Grace {
    /// There is none, or it is over.
    None,
    /// It is running, and ends no later than requested.
    Running,
    /// It starts, or was shortened, with this number of seconds; the object is updated accordingly.
    Set(i64),
}

// === impl Store ===

impl Store {
    /// Decides the action for one state of the object.
    pub(super) fn deletion_step(
        &self,
        context: &RequestContext,
        mut object: Object,
        options: &DeleteOptions,
    ) -> DeletionStep {
        let grace = self.grace(context, &mut object, options);
        if matches!(grace, Grace::Running) {
            return DeletionStep::Pending;
        }
        if let Some(finalizers) = self.collector_finalizers(&object, options) {
            object.set_finalizers(finalizers);
        }
        let finalizing = self.strategy().is_held(&object);
        match grace {
            Grace::Set(seconds) if finalizing || seconds > 0 => DeletionStep::Mark(object),
            Grace::Set(_) => DeletionStep::MarkAndRemove(object),
            _ if finalizing => {
                mark_as_deleting(&mut object, Timestamp::now());
                self.strategy().mark_as_deleting(&mut object);
                DeletionStep::Mark(object)
            }
            _ => DeletionStep::Remove,
        }
    }

    /// Checks the preconditions. The error names the kind instead of the resource, as in kube-apiserver.
    pub(super) fn match_preconditions(
        &self,
        object: &Object,
        options: &DeleteOptions,
    ) -> Result<(), StatusError> {
        let kind = GroupResource { group: self.resource.kind.group, resource: self.resource.kind.kind };
        let preconditions = &options.preconditions;
        let conflict = |what: &str, wanted: &str, found: &str, hint: &str| {
            if let Some(why) = self.strategy().failed_precondition(what, wanted, found) {
                let resource = self.resource.resource().group_resource();
                return Err(StatusError::conflict(resource, object.name(), why));
            }
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). {hint}"
            );
            Err(StatusError::conflict(kind, object.name(), why))
        };
        if let Some(wanted) = preconditions.uid.as_deref().filter(|wanted| *wanted != object.uid()) {
            let hint = "The object might have been deleted and then recreated";
            return conflict("UID", wanted, object.uid(), hint);
        }
        let found = object.resource_version();
        if let Some(wanted) = preconditions.resource_version.as_deref().filter(|wanted| *wanted != found) {
            return conflict("ResourceVersion", wanted, found, "The object might have been modified");
        }
        Ok(())
    }

    /// Starts or shortens the object's grace period; never extends it.
    fn grace(&self, context: &RequestContext, object: &mut Object, options: &DeleteOptions) -> Grace {
        let mut options = options.clone();
        options.grace_period_seconds = options.grace_period_seconds.map(positive);
        let now = Timestamp::now();
        if let Some(ends) = object.deletion_timestamp().map(time::parse) {
            let running = object.deletion_grace_period_seconds().map_or(0, positive);
            return match options.grace_period_seconds {
                _ if running == 0 => Grace::None,
                Some(wanted) if wanted < running => {
                    let (due, seconds) = shortened(ends.unwrap_or(now), running, wanted, now);
                    set_deletion(object, due, seconds);
                    Grace::Set(seconds)
                }
                _ => Grace::Running,
            };
        }
        if self.strategy().check_graceful_delete(context, object, &mut options) == Deletion::Immediate {
            return Grace::None;
        }
        let seconds = options.grace_period_seconds.unwrap_or_default();
        set_deletion(object, later(now, seconds), seconds);
        count_deletion(object);
        Grace::Set(seconds)
    }

    /// Returns the finalizers that the object needs while the garbage collector handles its dependents; `None` if it
    /// has exactly those.
    fn collector_finalizers(&self, object: &Object, options: &DeleteOptions) -> Option<Vec<String>> {
        if !self.options.garbage_collection {
            return None;
        }
        let has = |wanted: &str| object.finalizers().any(|finalizer| finalizer == wanted);
        let policy = if !self.strategy().supports_garbage_collection() {
            PropagationPolicy::Background
        } else if let Some(asked) = options.propagation_policy {
            asked
        } else if has(FINALIZER_ORPHAN) {
            PropagationPolicy::Orphan
        } else if has(FINALIZER_FOREGROUND) {
            PropagationPolicy::Foreground
        } else {
            self.strategy().default_propagation_policy()
        };
        let orphan = policy == PropagationPolicy::Orphan;
        let foreground = policy == PropagationPolicy::Foreground;
        if has(FINALIZER_ORPHAN) == orphan && has(FINALIZER_FOREGROUND) == foreground {
            return None;
        }
        let others = object
            .finalizers()
            .filter(|finalizer| *finalizer != FINALIZER_ORPHAN && *finalizer != FINALIZER_FOREGROUND);
        let own = orphan.then_some(FINALIZER_ORPHAN).or(foreground.then_some(FINALIZER_FOREGROUND));
        Some(others.chain(own).map(str::to_owned).collect())
    }
}

/// Marks an object that only waits for its finalizers: its deletion is due now.
fn mark_as_deleting(object: &mut Object, now: Timestamp) {
    let due = match object.deletion_timestamp().map(time::parse) {
        None => {
            count_deletion(object);
            now
        }
        Some(set) => set.map_or(now, |set| set.min(now)),
    };
    set_deletion(object, due, 0);
}

/// Increments the generation, because controllers act on the start of a deletion.
fn count_deletion(object: &mut Object) {
    let generation = object.generation();
    if generation > 0 {
        object.set(&["metadata", "generation"], (generation + 1).into());
    }
}

fn set_deletion(object: &mut Object, due: Timestamp, grace_period_seconds: i64) {
    object.set(&["metadata", "deletionTimestamp"], time::format_seconds(due).into());
    object.set(&["metadata", "deletionGracePeriodSeconds"], grace_period_seconds.into());
}

/// Replaces a negative grace period by one second.
fn positive(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// Returns the end and the length of a running grace period that becomes shorter. It does not end in the past: if the
/// new one is over, the object still gets a second, in which the deletion can be seen, unless none was asked for.
fn shortened(ends: Timestamp, running: i64, wanted: i64, now: Timestamp) -> (Timestamp, i64) {
    let due = later(later(ends, running.wrapping_neg()), wanted);
    if due < now { (now, wanted.min(1)) } else { (due, wanted) }
}

/// Adds seconds to a time. As in Go, a number of seconds is one of nanoseconds in 64 bits, whose overflow wraps around:
/// no grace period, however long, leads out of the range of times.
fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    let duration = SignedDuration::from_nanos(seconds.wrapping_mul(1_000_000_000));
    moment.saturating_add(duration).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::time::moment::{Layout, Moment};

    #[test]
    fn a_shortened_grace_period_does_not_end_in_the_past() {
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        for (ends, running, wanted, now, due, seconds) in [
            (30, 30, 10, 5, 10, 10),
            (30, 30, 6, 6, 6, 6),
            (30, 30, 3, 6, 6, 1),
            (30, 30, 1, 6, 6, 1),
            (30, 30, 0, 6, 6, 0),
            (30, 30, 29, 1000, 1000, 1),
            // The time it was asked for is rounded down when it is stored.
            (30, 30, 0, 0, 0, 0),
        ] {
            let found = shortened(at(ends), running, wanted, at(now));
            assert_eq!(found, (at(due), seconds), "{running} to {wanted} after {now} seconds");
        }
    }

    #[test]
    fn no_grace_period_leads_to_a_time_that_cannot_be_read() {
        let lengths = [i64::MIN, -1, 0, 1, 30, 9_223_372_036, 9_223_372_037, 250_000_000_000, i64::MAX];
        let now: Timestamp = "2026-11-27T05:11:38.9Z".parse().unwrap();
        for first in lengths.map(positive) {
            let begun = later(now, first);
            for second in lengths.map(positive) {
                let starts = [begun, Timestamp::MIN, now, Timestamp::MAX];
                for (due, _) in starts.map(|ends| shortened(ends, first, second, now)) {
                    assert!(due >= now, "{first}, then {second}");
                    let text = time::format_seconds(due);
                    assert!(Moment::parse(&text, Layout::Seconds).is_ok(), "{first}, then {second}: {text}");
                }
            }
            let text = time::format_seconds(begun);
            assert!(text.as_str() > "1700" && text.as_str() < "2320", "{first}: {text}");
        }
        assert_eq!(later(now, i64::MAX), "2026-11-27T05:11:37.9Z".parse().unwrap(), "as Go wraps around");
    }
}
