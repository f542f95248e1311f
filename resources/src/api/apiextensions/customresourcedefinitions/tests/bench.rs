//! A store of definitions, with the controllers that the server runs.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, DeleteOptions, DryRun, GetOptions, Object, StatusError};
use registry_core::codec::stored;
use registry_core::context::Budget;
use registry_core::registry::{InstalledApi, Store, SubresourceStore};
use registry_core::resource::Resource;
use registry_core::rest::{
    AdmitAll, Answer, Creater, Getter, GracefulDeleter, Storage as _, UpdatedObject, Updater,
};
use serde_json::Value;

use super::super::CustomResourceDefinitions;
use super::super::conditions::{self, NamesInUse, StatusChange};

/// The store and the names in it.
pub(super) struct Bench {
    _installed: InstalledApi,
    store: Arc<Store>,
    status: Arc<SubresourceStore>,
    names: NamesInUse,
}

/// The answer to a write, with its warnings.
pub(super) struct Reply {
    pub(super) result: Result<Object, StatusError>,
    pub(super) warnings: Vec<String>,
}

/// Sends an object, with the resource version of the current one.
struct Sent(Object);

#[async_trait]
impl UpdatedObject for Sent {
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut object = self.0.clone();
        if let Some(current) = current {
            object.copy_field(current, &["metadata", "resourceVersion"]);
        }
        Ok(object)
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        let installed = crate::testing::installed(&["customresourcedefinitions"]);
        let store = installed.store(CustomResourceDefinitions::TYPE).unwrap();
        let status = SubresourceStore::status(store.clone());
        Self { _installed: installed, store, status, names: NamesInUse::default() }
    }

    /// Decodes an object as the server does.
    pub(super) fn decode(&self, body: &Value) -> Object {
        let schema = self.store.schema();
        let mut value = body.clone();
        schema.conform(&mut value, &mut Vec::new()).unwrap();
        schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
        let mut object = Object::from_value(value).unwrap();
        self.store.apply_defaults(&mut object);
        object
    }

    pub(super) async fn post(&self, body: &Value, dry_run: DryRun) -> Reply {
        let context = RequestContext::system("");
        let options = CreateOptions { dry_run, ..CreateOptions::default() };
        let object = self.decode(body);
        let answer = self.store.create(&context, object.into(), &AdmitAll, &options).await;
        Reply { result: answer.map(|answer| object_of(&answer)), warnings: context.take_warnings() }
    }

    pub(super) async fn put(&self, body: &Value, dry_run: DryRun) -> Reply {
        self.update(&*self.store, body, dry_run).await
    }

    pub(super) async fn put_status(&self, body: &Value) -> Reply {
        self.update(&*self.status, body, DryRun::Off).await
    }

    async fn update(&self, store: &dyn Updater, body: &Value, dry_run: DryRun) -> Reply {
        let context = RequestContext::system("");
        let options = CreateOptions { dry_run, ..CreateOptions::default() };
        let mut sent = Sent(self.decode(body));
        let name = sent.0.name().to_owned();
        let answer = store.update(&context, &name, &mut sent, &AdmitAll, &options).await;
        Reply { result: answer.map(|(answer, _)| object_of(&answer)), warnings: context.take_warnings() }
    }

    pub(super) async fn get(&self, name: &str) -> Result<Object, StatusError> {
        let answer = self.store.get(&RequestContext::system(""), name, &GetOptions::default()).await;
        answer.map(|answer| object_of(&answer))
    }

    pub(super) async fn delete(&self, name: &str) -> Object {
        let context = RequestContext::system("");
        let deleted = self.store.delete(&context, name, &AdmitAll, &DeleteOptions::default()).await;
        object_of(&deleted.unwrap().answer)
    }

    /// Runs the controllers on a definition until nothing changes.
    pub(super) async fn settle(&mut self, name: &str) -> Object {
        loop {
            let mut object = self.get(name).await.unwrap();
            self.names.update(&object);
            let change = conditions::name_conditions(&object, &self.names)
                .or_else(|| conditions::non_structural_schema(&object))
                .or_else(|| conditions::api_approval(&object))
                .or_else(|| conditions::establish(&object));
            let Some(change) = change else { return object };
            StatusChange::apply(&change, &mut object);
            let body = object.into_value();
            self.put_status(&body).await.result.unwrap();
        }
    }
}

fn object_of(answer: &Answer) -> Object {
    match answer {
        Answer::Stored(stored) => stored::decode(stored.json()).unwrap(),
        Answer::Object(object) => object.clone(),
        Answer::Success(_) => Object::default(),
    }
}
