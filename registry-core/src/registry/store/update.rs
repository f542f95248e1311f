//! Updates: of existing objects, of absent ones if the kind allows create on update, and the update that removes the
//! last finalizer of an object being deleted.

use async_trait::async_trait;
use serde_json::Value;

use crate::api::{
    ErrorList, FieldError, FieldPath, GroupVersionKind, Object, Preconditions, StatusError, UpdateOptions,
};
use crate::apply::MANAGED_FIELDS;
use crate::context::RequestContext;
use crate::registry::errors::{OPTIMISTIC_LOCK, Verb};
use crate::resource::ObjectStrategy;
use crate::rest::{Answer, UpdatedObject, Updater, ValidateObject};
use crate::schema::EmptyFields;
use crate::storage::interface::{UpdateAction, UpdateOutcome};
use crate::storage::{StoredObject, TryUpdate};

use super::create::fill_system_fields;
use super::hooks::Pending;
use super::keys::match_name;
use super::{MainRules, Store, UpdateRules, Write, claimed_revision, set_resource_version};

/// A store whose updates follow the rules of a path: of the main resource, of `status`, or of a custom subresource.
#[derive(Clone, Copy)]
pub struct RuledStore<'a> {
    store: &'a Store,
    rules: &'a dyn UpdateRules,
}

/// An update request, which is retried against successive states of the object.
struct Attempt<'a> {
    store: &'a Store,
    context: &'a RequestContext,
    name: &'a str,
    update: &'a mut dyn UpdatedObject,
    admission: &'a dyn ValidateObject,
    rules: &'a dyn UpdateRules,
    dry_run: bool,
    /// The reservation of the last attempt; replaced, and so released, by the next attempt.
    pending: Pending,
    /// The object as the client sent it, if writing it removes the object.
    removed: Option<Object>,
}

/// The result of applying an update to one state.
enum Decision {
    Create(Object),
    Change(Object),
    /// The update removes the last finalizer of an object being deleted, so the object is removed.
    Remove(Object),
}

#[async_trait]
impl Updater for Store {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        self.with_rules(&MainRules).update(context, name, update, admission, options).await
    }
}

// === impl Store ===

impl Store {
    /// Returns this store with the rules of one of its paths.
    pub fn with_rules<'a>(&'a self, rules: &'a dyn UpdateRules) -> RuledStore<'a> {
        RuledStore { store: self, rules }
    }

    /// Prepares and validates a changed object: restores the metadata that clients must not change from the stored
    /// object, and then applies the path's rules in order. (`rest.BeforeUpdate`.)
    async fn before_update(
        &self,
        context: &RequestContext,
        rules: &dyn UpdateRules,
        new: &mut Object,
        old: &mut Object,
        empty_fields: Option<&EmptyFields>,
    ) -> Result<(), StatusError> {
        self.match_namespace(context, new)?;
        new.copy_field(old, &["metadata", "generation"]);
        self.drop_disabled_fields(new, Some(old));
        rules.prepare(&self.resource, context, new, old);
        keep_system_fields(new, old);

        let write = Write { resource: &self.resource, context, new, old: Some(old), rules };
        self.validate(write, empty_fields).await?;
        keep_manager_times(new, old);
        Ok(())
    }

    /// Checks that the update is based on the current state, or on no specific state where that is allowed.
    fn match_revision(
        &self,
        context: &RequestContext,
        new: &Object,
        name: &str,
        present: u64,
    ) -> Result<(), StatusError> {
        let claimed = claimed_revision(new)?;
        if claimed == present || (claimed == 0 && self.resource.write_rules.unconditional_update) {
            return Ok(());
        }
        let resource = self.named(context);
        if claimed != 0 {
            return Err(StatusError::conflict(resource, name, OPTIMISTIC_LOCK));
        }
        let field = FieldPath::new("metadata").child("resourceVersion");
        let error = FieldError::invalid(field, 0, "must be specified for an update");
        // Only this error names the resource instead of the kind, as in kube-apiserver.
        let kind = GroupVersionKind { kind: resource.resource, ..self.resource.kind };
        Err(StatusError::invalid(kind, name, &ErrorList::from(error)))
    }

    fn changed(&self, stored: &StoredObject) {
        self.notify_hooks(|hooks| hooks.after_update(stored));
    }
}

// === impl RuledStore ===

impl RuledStore<'_> {
    /// Performs an update by the rules.
    ///
    /// # Errors
    /// Fails as [`Updater::update`] does.
    pub async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        let Self { store, rules } = *self;
        let key = store.key(context, name)?;
        let preconditions = update.preconditions();
        let mut attempt = Attempt {
            store,
            context,
            name,
            update,
            admission,
            rules,
            dry_run: options.dry_run.is_on(),
            pending: Pending::default(),
            removed: None,
        };
        if attempt.dry_run {
            return attempt.rehearse(&key, &preconditions).await;
        }
        let updated = store
            .storage
            .guaranteed_update(&key, &preconditions, &mut attempt, None)
            .await
            .map_err(|error| store.operation(context, Verb::Update, name, &key).interpret(error))?;
        let Attempt { pending, removed, .. } = attempt;
        match updated.outcome {
            // Nothing was written, so the reservation (`pending`) is released.
            UpdateOutcome::Unchanged => Ok((Answer::Stored(updated.object), false)),
            UpdateOutcome::Created => {
                pending.commit();
                store.created(&updated.object);
                Ok((Answer::Stored(updated.object), true))
            }
            UpdateOutcome::Changed => {
                pending.commit();
                store.changed(&updated.object);
                Ok((Answer::Stored(updated.object), false))
            }
            UpdateOutcome::Deleted => {
                pending.commit();
                store.removed(&updated.object).await;
                // Clients expect the object in the response of a successful update, even if it is removed.
                let answer = removed.map_or(Answer::Stored(updated.object), Answer::Object);
                Ok((answer, false))
            }
        }
    }
}

// === impl Attempt ===

impl Attempt<'_> {
    async fn decide(&mut self, current: Option<&StoredObject>) -> Result<Decision, StatusError> {
        self.pending = Pending::default();
        match current {
            None => self.create().await,
            Some(entry) => self.change(entry).await,
        }
    }

    async fn create(&mut self) -> Result<Decision, StatusError> {
        if !self.accepts_absent() {
            return Err(StatusError::not_found(self.store.named(self.context), self.name));
        }
        let mut object = self.update.updated_object(self.context, None).await?;
        match_name(&object, self.name)?;
        object.metadata_mut().remove("resourceVersion");
        fill_system_fields(&mut object, self.store.strategy());
        self.pending = self.store.begin_create(self.context, &mut object, self.dry_run).await?;
        self.store.before_create(self.context, &mut object, self.update.empty_fields()).await?;
        self.admission.validate(self.context, Some(&object), None).await?;
        Ok(Decision::Create(object))
    }

    async fn change(&mut self, entry: &StoredObject) -> Result<Decision, StatusError> {
        self.context.budget.leave_for_large(entry.json().len()).await;
        let mut old = self.store.read(entry)?;
        let mut new = self.update.updated_object(self.context, Some(&old)).await?;
        match_name(&new, self.name)?;
        self.store.match_revision(self.context, &new, self.name, entry.revision)?;
        set_resource_version(&mut new, entry.revision);
        let is_status = self.rules.is_status();
        self.pending = self.store.begin_update(self.context, &mut new, &old, is_status, self.dry_run).await?;
        let empty_fields = self.update.empty_fields();
        self.store.before_update(self.context, self.rules, &mut new, &mut old, empty_fields).await?;
        self.admission.validate(self.context, Some(&new), Some(&old)).await?;
        if removes_last_finalizer(self.store.strategy(), &new, &old) {
            return Ok(Decision::Remove(new));
        }
        Ok(Decision::Change(new))
    }

    /// Performs a dry run: one attempt against the current state; returns the object that it would have written.
    async fn rehearse(
        mut self,
        key: &str,
        preconditions: &Preconditions,
    ) -> Result<(Answer, bool), StatusError> {
        let current =
            self.store.dry_run_current(key, preconditions, self.accepts_absent()).await.map_err(|error| {
                self.store.operation(self.context, Verb::Update, self.name, key).interpret(error)
            })?;
        Ok(match self.decide(current.as_ref()).await? {
            Decision::Create(object) => (Answer::Object(object), true),
            Decision::Change(object) | Decision::Remove(object) => (Answer::Object(object), false),
        })
    }
}

#[async_trait]
impl TryUpdate for Attempt<'_> {
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        match self.decide(current).await? {
            Decision::Create(object) | Decision::Change(object) => Ok(UpdateAction::Write {
                value: self.store.new_value(&object),
                ttl: self.store.time_to_live(),
            }),
            Decision::Remove(object) => {
                self.removed = Some(object);
                Ok(UpdateAction::Delete)
            }
        }
    }

    fn accepts_absent(&self) -> bool {
        let by_kind = self.rules.may_create() && self.store.resource.write_rules.create_on_update;
        by_kind || self.update.forces_create()
    }
}

/// Restores the fields that no update changes from the stored object.
fn keep_system_fields(new: &mut Object, old: &Object) {
    if new.uid().is_empty() {
        new.copy_field(old, &["metadata", "uid"]);
    }
    let kept = ["creationTimestamp", "deletionTimestamp"];
    for field in kept.into_iter().filter(|field| old.get(&["metadata", field]).is_some()) {
        new.copy_field(old, &["metadata", field]);
    }
    if new.deletion_grace_period_seconds().is_none() {
        new.copy_field(old, &["metadata", "deletionGracePeriodSeconds"]);
    }
    new.metadata_mut().remove("selfLink");
}

/// Keeps the managers' times if nothing else changed, so that a no-op update does not write.
fn keep_manager_times(new: &mut Object, old: &Object) {
    let (Some(new_managers), Some(old_managers)) = (new.get(MANAGED_FIELDS), old.get(MANAGED_FIELDS)) else {
        return;
    };
    // From the last field on: the status changes most often, and the managers are the most expensive to compare.
    let is_same_beyond_metadata =
        without(Some(&new.0), "metadata").rev().eq(without(Some(&old.0), "metadata").rev());
    if !is_same_beyond_metadata || !same_managers(new_managers, old_managers) {
        return;
    }
    if without(new.metadata(), "managedFields").eq(without(old.metadata(), "managedFields")) {
        new.copy_field(old, MANAGED_FIELDS);
    }
}

fn same_managers(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_array(), old.as_array()) else { return false };
    let same =
        |new: &Value, old: &Value| without(new.as_object(), "time").eq(without(old.as_object(), "time"));
    new.len() == old.len() && new.iter().zip(old).all(|(new, old)| same(new, old))
}

fn without<'a>(
    map: Option<&'a serde_json::Map<String, Value>>,
    left_out: &'a str,
) -> impl DoubleEndedIterator<Item = (&'a String, &'a Value)> {
    map.into_iter().flatten().filter(move |(key, _)| *key != left_out)
}

/// Whether a change removes the last finalizer of an object being deleted. (`ShouldDeleteDuringUpdate`.)
fn removes_last_finalizer(strategy: &dyn ObjectStrategy, new: &Object, old: &Object) -> bool {
    !strategy.is_held(new)
        && old.deletion_timestamp().is_some()
        && old.deletion_grace_period_seconds().unwrap_or_default() == 0
}
