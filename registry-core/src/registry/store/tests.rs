//! Behaviour of the store as clients see it, with an in-memory storage.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::api::validation::{ErrorList, FieldError, FieldPath};
use crate::api::{CreateOptions, DeleteOptions, DryRun, GetOptions, Object, Reason, StatusError};
use crate::context::RequestContext;
use crate::registry::testing::{Edit, MemoryStorage, Replace, object_of, widget, widgets};
use crate::resource::{
    Deletion, NoStrategy, ObjectStrategy, ResourceDescription, ResourceProperties, WriteRules,
};
use crate::rest::{AdmitAll, Answer, Creater, Getter, GracefulDeleter, Updater, ValidateObject};
use crate::storage::StoredObject;

use super::{FinishHook, Store, StoreHooks, StoreOptions};

mod creating;
mod deleting;
mod hooking;
mod reading;
mod subresources;
mod updating;

static PLAIN: ResourceDescription = widgets(|| Arc::new(NoStrategy));
static PICKY: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        returns_deleted_object: true,
        is_builtin: true,
        write_rules: WriteRules { unconditional_update: false, ..WriteRules::KUBERNETES },
        ..PLAIN.properties
    },
    ..widgets(|| Arc::new(Picky))
};
static GRACEFUL: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        returns_deleted_object: true,
        write_rules: WriteRules::KUBERNETES,
        ..PLAIN.properties
    },
    ..widgets(|| Arc::new(Graceful))
};

/// Requires a resource version for updates, rejects red, warns about old colours, never sorts.
struct Picky;

impl ObjectStrategy for Picky {
    fn validate(&self, _: &RequestContext, object: &Object) -> ErrorList {
        let color = object.get_str(&["spec", "color"]);
        let field = FieldPath::new("spec").child("color");
        color
            .filter(|color| *color == "red")
            .map(|color| FieldError::invalid(field, color, "too loud"))
            .into_iter()
            .collect()
    }

    fn warnings_on_create(&self, _: &RequestContext, _: &Object) -> Vec<String> {
        vec!["widgets are deprecated".to_owned()]
    }

    fn validate_status_update(&self, _: &RequestContext, new: &Object, _: &Object) -> ErrorList {
        let replicas = new.get_i64(&["status", "replicas"]).unwrap_or_default();
        let field = FieldPath::new("status").child("replicas");
        (replicas < 0).then(|| FieldError::invalid(field, replicas, "negative")).into_iter().collect()
    }
}

/// Deletes gracefully, after thirty seconds by default.
struct Graceful;

impl ObjectStrategy for Graceful {
    fn check_graceful_delete(&self, _: &RequestContext, _: &Object, options: &mut DeleteOptions) -> Deletion {
        options.grace_period_seconds.get_or_insert(30);
        Deletion::Graceful
    }
}

/// A store with an in-memory storage, and both interfaces to them.
struct Fixture {
    store: Arc<Store>,
    storage: Arc<MemoryStorage>,
    context: RequestContext,
}

// === impl Fixture ===

impl Fixture {
    fn new(resource: &'static ResourceDescription) -> Self {
        Self::with_options(resource, StoreOptions::default())
    }

    fn with_options(resource: &'static ResourceDescription, options: StoreOptions) -> Self {
        let storage = Arc::new(MemoryStorage::default());
        let store = Store::with_options(resource.instantiate(), storage.clone(), "/registry", options);
        Self { store, storage, context: RequestContext::system("zoo") }
    }

    async fn create(&self, object: Object) -> Result<Object, StatusError> {
        let options = CreateOptions::default();
        let answer = self.store.create(&self.context, object.into(), &AdmitAll, &options).await?;
        Ok(object_of(&answer))
    }

    async fn update(&self, name: &str, object: Object) -> Result<Object, StatusError> {
        let options = CreateOptions::default();
        let mut update = Replace(object);
        let (answer, _) = self.store.update(&self.context, name, &mut update, &AdmitAll, &options).await?;
        Ok(object_of(&answer))
    }

    async fn edit(&self, name: &str, edit: impl FnMut(&mut Object) + Send) -> Result<Object, StatusError> {
        let options = CreateOptions::default();
        let mut update = Edit(edit);
        let (answer, _) = self.store.update(&self.context, name, &mut update, &AdmitAll, &options).await?;
        Ok(object_of(&answer))
    }

    async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Answer, StatusError> {
        self.store.delete(&self.context, name, &AdmitAll, options).await.map(|deletion| deletion.answer)
    }

    async fn get(&self, name: &str) -> Result<Object, StatusError> {
        self.store.get(&self.context, name, &GetOptions::default()).await.map(|answer| object_of(&answer))
    }
}

fn dry_run() -> CreateOptions {
    CreateOptions { dry_run: DryRun::All, ..CreateOptions::default() }
}
