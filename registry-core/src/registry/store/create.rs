//! Creation, and the steps common to all creations, including create on update.

use async_trait::async_trait;
use uuid::Uuid;

use crate::api::{CreateOptions, Object, Reason, StatusError, time};
use crate::context::RequestContext;
use crate::registry::errors::Verb;
use crate::resource::ObjectStrategy;
use crate::rest::{Answer, Creater, NewObject, ValidateObject};
use crate::schema::EmptyFields;
use crate::storage::{StorageError, StoredObject};

use super::generate_name::generate_name;
use super::{MainRules, Store, Write, claimed_revision};

/// Number of attempts to generate a name: with a million names from one base, eight consecutive collisions happen in
/// only one of a thousand creations.
const GENERATED_NAME_ATTEMPTS: usize = 8;

#[async_trait]
impl Creater for Store {
    async fn create(
        &self,
        context: &RequestContext,
        NewObject { object, empty_fields }: NewObject,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let empty = &empty_fields;
        if wants_generated_name(&object) {
            for _ in 1..GENERATED_NAME_ATTEMPTS {
                match self.create_once(context, object.clone(), empty, admission, options).await {
                    Err(failure) if failure.reason == Reason::AlreadyExists => {}
                    outcome => return outcome,
                }
            }
        }
        self.create_once(context, object, empty, admission, options).await
    }
}

impl Store {
    async fn create_once(
        &self,
        context: &RequestContext,
        mut object: Object,
        empty_fields: &EmptyFields,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let dry_run = options.dry_run.is_on();
        fill_system_fields(&mut object, self.strategy());
        let pending = self.begin_create(context, &mut object, dry_run).await?;
        self.before_create(context, &mut object, Some(empty_fields)).await?;
        admission.validate(context, Some(&object), None).await?;

        let name = object.name().to_owned();
        let generated = object.get_str(&["metadata", "generateName"]).is_some_and(|base| !base.is_empty());
        let key = self.key(context, &name)?;
        // The storage of Kubernetes asks, which a dry run does not reach.
        if !dry_run && claimed_revision(&object).is_ok_and(|revision| revision != 0) {
            return Err(StatusError::new(
                Reason::Unknown,
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if dry_run {
            return match self.dry_run_create(&key, object).await {
                Ok(object) => Ok(Answer::Object(object)),
                Err(error) => Err(self.creation_failure(context, &key, &name, generated, error).await),
            };
        }
        match self.storage.create(&key, self.new_value(&object), self.time_to_live()).await {
            Ok(stored) => {
                pending.commit();
                self.created(&stored);
                Ok(Answer::Stored(stored))
            }
            Err(error) => Err(self.creation_failure(context, &key, &name, generated, error).await),
        }
    }

    /// Prepares and validates a new object: sets the namespace, clears the status, sets generation 1, and then calls the
    /// strategy's hooks in order. (`rest.BeforeCreate`.)
    pub(super) async fn before_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        empty_fields: Option<&EmptyFields>,
    ) -> Result<(), StatusError> {
        let strategy = self.strategy();
        self.match_namespace(context, object)?;
        if self.resource.has_status && !strategy.keeps_status_on_create() {
            match self.blank_status() {
                Some(blank) => object.set(&["status"], blank.clone()),
                None => {
                    object.remove(&["status"]);
                }
            }
        }
        if self.resource.has_generation {
            object.set(&["metadata", "generation"], 1.into());
        }
        self.drop_disabled_fields(object, None);
        strategy.prepare_for_create(context, object);

        let write = Write { resource: &self.resource, context, new: object, old: None, rules: &MainRules };
        self.validate(write, empty_fields).await
    }

    /// Notifies the hooks of a committed creation.
    pub(super) fn created(&self, stored: &StoredObject) {
        self.notify_hooks(|hooks| hooks.after_create(stored));
    }

    /// Returns the client's error: for a name collision, it says whether the server generated the name and whether it
    /// will be free soon.
    async fn creation_failure(
        &self,
        context: &RequestContext,
        key: &str,
        name: &str,
        generated: bool,
        error: StorageError,
    ) -> StatusError {
        let mut failure = self.operation(context, Verb::Create, name, key).interpret(error);
        if failure.reason != Reason::AlreadyExists {
            return failure;
        }
        if generated {
            failure.message.push_str(", the server was not able to generate a unique name for the object");
            failure = failure.retry_after_seconds(1);
        }
        let present = self.storage.get(key, None).await.ok().flatten();
        let deleting = present.and_then(|entry| self.read(&entry).ok()?.deletion_timestamp().map(drop));
        if deleting.is_some() {
            failure.message = format!("object is being deleted: {}", failure.message);
        }
        failure
    }
}

/// Returns a new unique uid.
pub fn new_uid() -> String {
    Uuid::new_v4().to_string()
}

/// Sets the fields of a new object that only the server sets, and generates the name if requested.
pub(super) fn fill_system_fields(object: &mut Object, strategy: &dyn ObjectStrategy) {
    if wants_generated_name(object) {
        let base = object.get_str(&["metadata", "generateName"]).unwrap_or_default();
        let name = if strategy.completes_generated_names() { generate_name(base) } else { base.to_owned() };
        object.set(&["metadata", "name"], name.into());
    }
    let metadata = object.metadata_mut();
    metadata.insert("uid".to_owned(), new_uid().into());
    metadata.insert("creationTimestamp".to_owned(), time::now().into());
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(field);
    }
}

fn wants_generated_name(object: &Object) -> bool {
    object.name().is_empty()
        && object.get_str(&["metadata", "generateName"]).is_some_and(|base| !base.is_empty())
}
