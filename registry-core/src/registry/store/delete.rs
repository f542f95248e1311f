//! Deletion of one object.

use async_trait::async_trait;

use crate::api::{
    DeleteOptions, ErrorList, FieldError, FieldPath, GroupResource, GroupVersionKind, Object, Preconditions,
    StatusError,
};
use crate::context::RequestContext;
use crate::registry::errors::Verb;
use crate::rest::{Answer, Deletion, GracefulDeleter, SuccessDetails, SuccessStatus, ValidateObject};
use crate::storage::interface::{AnyDeletion, UpdateAction, UpdateOutcome};
use crate::storage::{StorageError, StoredObject, TryUpdate};

use super::Store;
use super::deletion::DeletionStep;

/// The error of the deletion of an object that can be read, or does not exist.
const ONLY_CORRUPT: &str =
    "is exclusively used to delete corrupt object(s), try again by removing this option";

/// A delete request, which is retried against successive states of the object.
struct Attempt<'a> {
    store: &'a Store,
    context: &'a RequestContext,
    admission: &'a dyn ValidateObject,
    options: &'a DeleteOptions,
    /// The plan of the last attempt.
    plan: Plan,
    /// The uid seen by the last attempt.
    uid: String,
}

/// The fate of an object after the write of an attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// It is gone.
    Gone,
    /// Another deletion will remove it.
    Pending,
    /// It remains, marked as being deleted.
    Stays,
    /// It has been marked, and must be removed now.
    RemoveNow,
}

#[async_trait]
impl GracefulDeleter for Store {
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Deletion, StatusError> {
        if options.ignore_store_read_error {
            return self.delete_corrupt(context, name).await;
        }
        if let Some(reason) = self.strategy().forbids_deletion(name) {
            return Err(StatusError::forbidden(self.named(context), name, reason));
        }
        for warning in self.strategy().warnings_on_delete(options) {
            context.warn(warning);
        }
        self.delete_listed(context, name, admission, options).await
    }

    async fn delete_listed(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Deletion, StatusError> {
        let key = self.key(context, name)?;
        let mut attempt =
            Attempt { store: self, context, admission, options, plan: Plan::Gone, uid: String::new() };
        if options.dry_run.is_on() {
            return attempt.rehearse(&key, name).await;
        }
        // Each attempt checks the preconditions itself, so that a failure has the message for deletions.
        let updated = self
            .storage
            .guaranteed_update(&key, &Preconditions::default(), &mut attempt, None)
            .await
            .map_err(|error| self.operation(context, Verb::Delete, name, &key).interpret(error))?;
        let Attempt { plan, uid, .. } = attempt;
        if updated.outcome == UpdateOutcome::Deleted {
            self.removed(&updated.object).await;
        }
        let answer = match plan {
            Plan::Gone | Plan::Pending => self.deleted(context, updated.object, name, &uid),
            Plan::Stays => Answer::Stored(updated.object),
            Plan::RemoveNow => self.remove_marked(context, &key, name, updated.object, &uid).await?,
        };
        Ok(Deletion { answer, is_complete: plan.is_complete() })
    }
}

// === impl Store ===

impl Store {
    /// Removes an object that has just been marked. Another request may have removed it meanwhile.
    async fn remove_marked(
        &self,
        context: &RequestContext,
        key: &str,
        name: &str,
        marked: StoredObject,
        uid: &str,
    ) -> Result<Answer, StatusError> {
        let same = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match self.storage.delete(key, &same, &mut AnyDeletion, Some(marked.clone())).await {
            Ok(last) => {
                self.removed(&last).await;
                Ok(self.deleted(context, last, name, uid))
            }
            Err(StorageError::NotFound { .. }) => Ok(self.deleted(context, marked, name, uid)),
            Err(error) => Err(self.operation(context, Verb::Delete, name, key).interpret(error)),
        }
    }

    /// Deletes an object whose stored value cannot be read: without admission, finalizers and a grace period, which are a
    /// part of what cannot be read.
    async fn delete_corrupt(&self, context: &RequestContext, name: &str) -> Result<Deletion, StatusError> {
        let key = self.key(context, name)?;
        let operation = self.operation(context, Verb::Delete, name, &key);
        let deleted = self.storage.delete_corrupt(&key).await;
        deleted.map_err(|error| match error {
            StorageError::NotCorrupt | StorageError::NotFound { .. } => {
                let GroupResource { group, resource } = operation.resource;
                // As in kube-apiserver, the resource is in the place of the kind.
                let kind = GroupVersionKind { group, version: "", kind: resource };
                let field = FieldPath::new("ignoreStoreReadErrorWithClusterBreakingPotential");
                let mut errors = ErrorList::default();
                errors.push(FieldError::invalid(field, true, ONLY_CORRUPT));
                StatusError::invalid(kind, name, &errors)
            }
            error => operation.interpret(error),
        })?;
        let GroupVersionKind { kind, .. } = self.resource.kind;
        let details = SuccessDetails {
            name: name.to_owned(),
            resource: GroupResource { group: "", resource: kind },
            uid: String::new(),
        };
        let answer = Answer::Success(SuccessStatus { details: Some(details), code: Some(200) });
        Ok(Deletion { answer, is_complete: true })
    }

    /// Returns the response for a removed object.
    fn deleted(&self, context: &RequestContext, last: StoredObject, name: &str, uid: &str) -> Answer {
        if self.resource.returns_deleted_object {
            return Answer::Stored(last);
        }
        let details =
            SuccessDetails { name: name.to_owned(), resource: self.named(context), uid: uid.to_owned() };
        Answer::Success(SuccessStatus { details: Some(details), code: None })
    }
}

// === impl Plan ===

impl Plan {
    /// Returns whether the object is removed by this request.
    const fn is_complete(self) -> bool {
        matches!(self, Self::Gone | Self::RemoveNow)
    }
}

// === impl Attempt ===

impl Attempt<'_> {
    async fn step(&mut self, current: Object) -> Result<DeletionStep, StatusError> {
        current.uid().clone_into(&mut self.uid);
        self.store.match_preconditions(&current, self.options)?;
        self.admission.validate(self.context, None, Some(&current)).await?;
        let step = self.store.deletion_step(self.context, current, self.options);
        self.plan = match step {
            DeletionStep::Pending => Plan::Pending,
            DeletionStep::Remove => Plan::Gone,
            DeletionStep::Mark(_) => Plan::Stays,
            DeletionStep::MarkAndRemove(_) => Plan::RemoveNow,
        };
        Ok(step)
    }

    /// Performs a dry run: one attempt against the current state; returns the response it would have had.
    async fn rehearse(mut self, key: &str, name: &str) -> Result<Deletion, StatusError> {
        let current =
            self.store.dry_run_current(key, &Preconditions::default(), false).await.map_err(|error| {
                self.store.operation(self.context, Verb::Delete, name, key).interpret(error)
            })?;
        let Some(entry) = current else {
            return Err(StatusError::not_found(self.store.named(self.context), name));
        };
        self.context.budget.leave_for_large(entry.json().len()).await;
        let answer = match self.step(self.store.read(&entry)?).await? {
            DeletionStep::Mark(object) | DeletionStep::MarkAndRemove(object) => Answer::Object(object),
            DeletionStep::Pending | DeletionStep::Remove => {
                self.store.deleted(self.context, entry, name, &self.uid)
            }
        };
        Ok(Deletion { answer, is_complete: self.plan.is_complete() })
    }
}

#[async_trait]
impl TryUpdate for Attempt<'_> {
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        let Some(entry) = current else { return Ok(UpdateAction::Keep) };
        self.context.budget.leave_for_large(entry.json().len()).await;
        let object = self.store.read(entry)?;
        Ok(match self.step(object).await? {
            DeletionStep::Pending => UpdateAction::Keep,
            DeletionStep::Remove => UpdateAction::Delete,
            DeletionStep::Mark(object) | DeletionStep::MarkAndRemove(object) => {
                UpdateAction::Write { value: self.store.new_value(&object), ttl: self.store.time_to_live() }
            }
        })
    }
}
