//! Custom resources over an engine in memory, cached as in a server.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::selector::FieldSelector;
use registry_core::api::{CreateOptions, GetOptions, ListOptions, Object, Preconditions, StatusError};
use registry_core::codec::stored;
use registry_core::context::Budget;
use registry_core::registry::{InstalledPath, install_kinds};
use registry_core::rest::webhook::{NoWebhooks, WebhookCaller};
use registry_core::rest::{AdmitAll, Answer, UpdatedObject};
use registry_core::schema::FieldOrder;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::{Attributes, Entry, StoredObject};
use serde_json::{Value, json};

use super::{Compiling, CustomKinds};
use crate::api::apiextensions::customresourcedefinitions::definition::Definition;
use crate::testing::InMemory;

mod corpus;
mod lifecycle;
mod schema_changes;
mod versions;
mod writes;

/// The kinds of a definition, installed.
struct Fixture {
    paths: Vec<Vec<InstalledPath>>,
}

/// Returns a definition of `widgets.example.com` with these versions, as it is stored.
fn definition(versions: &Value) -> Value {
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
        "shortNames": ["wd"], "categories": ["all"]});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions},
        "status": {"acceptedNames": names},
    })
}

/// Returns the version `v1` with this schema; `more` are fields of the version.
fn v1(schema: &Value, more: &Value) -> Value {
    let mut version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    for (key, value) in more.as_object().unwrap() {
        version[key] = value.clone();
    }
    version
}

/// Returns a schema with these properties of `spec` and `status`.
fn schema(spec: &Value, status: &Value) -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": status},
    }})
}

fn widget(name: &str, more: &Value) -> Value {
    let mut widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
    for (key, value) in more.as_object().unwrap() {
        widget[key] = value.clone();
    }
    widget
}

/// Returns the stored form of a definition.
fn stored_definition(definition: &Value) -> (Definition, StoredObject) {
    let object = Object::from_value(definition.clone()).unwrap();
    let json = stored::encode(&object, FieldOrder::Usual);
    let entry = Entry::new("/definition".into(), 1, json, 0, Attributes::default());
    (Definition::parse(&object).unwrap(), Arc::new(entry))
}

fn kinds(definition: &Value) -> CustomKinds {
    let (definition, stored) = stored_definition(definition);
    CustomKinds::new(&definition, &stored, &no_webhooks(), &Compiling::default()).unwrap()
}

fn no_webhooks() -> Arc<dyn WebhookCaller> {
    Arc::new(NoWebhooks)
}

/// Returns the causes of an error, as `field: message`.
fn causes(result: Result<Value, StatusError>) -> Vec<String> {
    let error = result.unwrap_err();
    assert_eq!(error.code, 422, "{error:?}");
    let causes = error.details.unwrap().causes;
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn object_of(answer: Answer) -> Value {
    match answer {
        Answer::Stored(entry) => stored::decode(entry.json()).unwrap().into_value(),
        Answer::Object(object) => object.into_value(),
        Answer::Success(status) => panic!("no object but {status:?}"),
    }
}

/// A changed object, as a function of the present one.
struct Change<F>(F);

#[async_trait]
impl<F: FnMut(&mut Value) + Send> UpdatedObject for Change<F> {
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }

    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut value = current.unwrap().clone().into_value();
        (self.0)(&mut value);
        Ok(Object::from_value(value).unwrap())
    }
}

// === impl Fixture ===

impl Fixture {
    fn new(definition: &Value) -> Self {
        Self::over(Embedded::in_memory(), definition)
    }

    fn over(engine: Arc<dyn Mvcc>, definition: &Value) -> Self {
        let kinds = kinds(definition);
        let (_, paths) = install_kinds(&kinds.versions, &kinds.served, &InMemory(engine)).unwrap();
        Self { paths }
    }

    fn path(&self, version: &str, subresource: Option<&str>) -> &InstalledPath {
        let paths = self.paths.iter().flatten();
        let is_wanted =
            |path: &&InstalledPath| path.resource.kind.version == version && path.subresource == subresource;
        paths.into_iter().find(is_wanted).unwrap()
    }

    fn context(&self, version: &str) -> RequestContext {
        let mut context = RequestContext::system("default");
        context.resource = Some(self.path(version, None).resource.resource());
        context
    }

    /// Creates an object as a request does: conforms it, sets defaults, and stores it.
    async fn create(&self, version: &str, object: &Value) -> Result<Value, StatusError> {
        self.create_in(&self.context(version), version, object).await
    }

    async fn create_in(
        &self,
        context: &RequestContext,
        version: &str,
        object: &Value,
    ) -> Result<Value, StatusError> {
        let path = self.path(version, None);
        let schema = path.resource.schema();
        let mut object = object.clone();
        schema.conform(&mut object, &mut Vec::new()).unwrap();
        schema.apply_defaults(&mut object, &Budget::unlimited()).unwrap();
        let creater = path.capabilities.creater.as_ref().unwrap();
        let object = Object::from_value(object).unwrap();
        creater.create(context, object.into(), &AdmitAll, &CreateOptions::default()).await.map(object_of)
    }

    /// Changes an object through a path.
    async fn change(
        &self,
        (version, subresource): (&str, Option<&str>),
        name: &str,
        change: impl FnMut(&mut Value) + Send,
    ) -> Result<Value, StatusError> {
        self.change_in(&self.context(version), (version, subresource), name, change).await
    }

    async fn change_in(
        &self,
        context: &RequestContext,
        (version, subresource): (&str, Option<&str>),
        name: &str,
        change: impl FnMut(&mut Value) + Send,
    ) -> Result<Value, StatusError> {
        let updater = self.path(version, subresource).capabilities.updater.as_ref().unwrap();
        let options = CreateOptions::default();
        let updated = updater.update(context, name, &mut Change(change), &AdmitAll, &options).await?;
        Ok(object_of(updated.0))
    }

    async fn get(
        &self,
        (version, subresource): (&str, Option<&str>),
        name: &str,
    ) -> Result<Value, StatusError> {
        let getter = self.path(version, subresource).capabilities.getter.as_ref().unwrap();
        getter.get(&self.context(version), name, &GetOptions::default()).await.map(object_of)
    }

    /// Returns the names of the objects that a field selector matches.
    async fn select(&self, version: &str, selector: &str) -> Result<Vec<String>, StatusError> {
        let lister = self.path(version, None).capabilities.lister.as_ref().unwrap();
        let field_selector = FieldSelector::parse(selector).unwrap();
        let options = ListOptions { field_selector, ..ListOptions::default() };
        let page = lister.list(&self.context(version), &options).await?;
        let name = |entry: &StoredObject| stored::decode(entry.json()).unwrap().name().to_owned();
        Ok(page.items.iter().map(name).collect())
    }
}
