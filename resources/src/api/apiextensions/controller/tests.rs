//! The controller over storages that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use registry_core::RequestContext;
use registry_core::api::{CreateOptions, DeleteOptions, GetOptions, Object};
use registry_core::codec::stored;
use registry_core::context::Budget;
use registry_core::registry::{OpenStorage, ServeResources, ServedChange, Store};
use registry_core::resource::{Resource as _, Versions};
use registry_core::rest::{AdmitAll, Answer, Creater as _, Getter as _, GracefulDeleter as _, Storage as _};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::{Interface, StorageError};
use serde_json::{Value, json};

use super::CustomResourceController;
use crate::api::apiextensions::customresourcedefinitions::CustomResourceDefinitions;
use crate::api::apiextensions::customresourcedefinitions::conditions::is_established;
use crate::testing::{InMemory, installed_over};

const NAME: &str = "widgets.example.com";

/// Opens the storages of custom kinds at the third attempt.
struct Failing {
    storages: InMemory,
    attempts: AtomicU32,
}

impl OpenStorage for Failing {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        match self.attempts.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("as the test wants it"),
            1 => Err(StorageError::unavailable("not yet")),
            _ => self.storages.open(versions),
        }
    }

    fn prefix(&self) -> &str {
        self.storages.prefix()
    }
}

/// Serves nothing.
struct Nowhere;

impl ServeResources for Nowhere {
    fn change(&self, _: ServedChange) {}
}

async fn create(store: &Store, mut definition: Value) {
    let schema = store.schema();
    schema.conform(&mut definition, &mut Vec::new()).unwrap();
    schema.apply_defaults(&mut definition, &Budget::unlimited()).unwrap();
    let mut definition = Object::from_value(definition).unwrap();
    store.apply_defaults(&mut definition);
    let context = RequestContext::system("");
    store.create(&context, definition.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
}

/// Waits until the definition, or its absence, is as wanted.
async fn wait_until(store: &Store, is_wanted: impl Fn(Option<&Object>) -> bool) {
    let waiting = async {
        loop {
            let found = store.get(&RequestContext::system(""), NAME, &GetOptions::default()).await;
            let definition = match &found {
                Ok(Answer::Stored(definition)) => Some(stored::decode(definition.json()).unwrap()),
                _ => None,
            };
            if is_wanted(definition.as_ref()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap();
}

#[tokio::test]
async fn objects_are_deleted_though_an_attempt_panicked_and_another_failed() {
    let engine = Embedded::in_memory();
    let installed = installed_over(engine.clone(), &["customresourcedefinitions"]);
    let storage = Arc::new(Failing { storages: InMemory(engine), attempts: AtomicU32::new(0) });
    let controller = CustomResourceController::new(&installed, storage.clone(), Arc::new(Nowhere)).unwrap();
    let informer = tokio::spawn(controller.informer().run());
    let running = tokio::spawn(controller.run());
    let store = installed.store(CustomResourceDefinitions::TYPE).unwrap();

    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    let names =
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    });
    create(&store, definition).await;
    wait_until(&store, |definition| definition.is_some_and(is_established)).await;
    let deleted = store.delete(&RequestContext::system(""), NAME, &AdmitAll, &DeleteOptions::default()).await;
    deleted.unwrap();
    wait_until(&store, |definition| definition.is_none()).await;
    assert_eq!(storage.attempts.load(Ordering::Relaxed), 3, "each attempt is made after a pause");
    running.abort();
    informer.abort();
}
