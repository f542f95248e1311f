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
        if let Some(ends) = object.deletion_timestamp().map(time::parse) {
            let running = object.deletion_grace_period_seconds().map_or(0, positive);
            return match options.grace_period_seconds {
                _ if running == 0 => Grace::None,
                Some(wanted) if wanted < running => {
                    let ends = ends.unwrap_or_else(Timestamp::now);
                    set_deletion(object, later(ends, wanted - running), wanted);
                    Grace::Set(wanted)
                }
                _ => Grace::Running,
            };
        }
        if self.strategy().check_graceful_delete(context, object, &mut options) == Deletion::Immediate {
            return Grace::None;
        }
        let seconds = options.grace_period_seconds.unwrap_or_default();
        set_deletion(object, later(Timestamp::now(), seconds), seconds);
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

fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(moment)
}
