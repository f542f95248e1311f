//! Tests of the registry over a real engine, behind a cache: the life cycle of an object.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use registry_core::RequestContext;
use registry_core::api::selector::FieldSelector;
use registry_core::api::{
    CreateOptions, DeleteOptions, GetOptions, GroupVersionKind, ListOptions, Object, Scope, StatusError,
};
use registry_core::codec::stored;
use registry_core::registry::{Store, SubresourceStore};
use registry_core::release::Lifecycle;
use registry_core::resource::{
    NoStrategy, ResourceDescription, ResourceProperties, SelectableField, Versions,
};
use registry_core::rest::{
    AdmitAll, Answer, Creater, Getter, GracefulDeleter, Lister, UpdatedObject, Updater, Watcher,
};
use registry_core::schema::Schema;
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, WatchEvent};
use serde_json::{Value, json};

const KIND: GroupVersionKind = GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Animal" };

static ANIMALS: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        lifecycle: Lifecycle { introduced: None, removed: None },
        deprecation: None,
        retired: &[],
        kind: KIND,
        list_kind: "AnimalList",
        plural: "animals",
        singular: "animal",
        short_names: &[],
        categories: &[],
        scope: Scope::Namespaced,
        storage_prefix: "zoo.example.dev/animals",
        selectable: &[SelectableField {
            name: "spec.keeper",
            path: &["spec", "keeper"],
            other_path: &[],
            absent: "",
        }],
        indexes: &["spec.keeper"],
        field_names: &["metadata.name", "metadata.namespace", "spec.keeper"],
        row_conditions: None,
        has_status: true,
        has_generation: true,
        scale: None,
        time_to_live_seconds: None,
        returns_deleted_object: false,
        serves_deletecollection: true,
        write_rules: registry_core::resource::WriteRules::OWN,
        is_builtin: false,
        declared_at: "here",
    },
    enabled_by_default: true,
    feature: None,
    columns: &[],
    strategy: || Arc::new(NoStrategy),
    schema: animal_schema,
    hub: None,
};

fn animal_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| Schema::from_json_schema(&json!({"type": "object"}), KIND));
    SCHEMA.clone()
}

/// An update equivalent to a patch.
struct Edit<F>(F);

#[async_trait]
impl<F: FnMut(&mut Object) + Send> UpdatedObject for Edit<F> {
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut object = current.cloned().unwrap_or_default();
        (self.0)(&mut object);
        Ok(object)
    }
}

fn animal(name: &str, keeper: &str) -> Object {
    let value = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Animal",
        "metadata": {"name": name, "finalizers": ["zoo.example.dev/feed"]}, "spec": {"keeper": keeper},
    });
    Object::from_value(value).unwrap()
}

fn object_of(answer: &Answer) -> Object {
    match answer {
        Answer::Stored(entry) => stored::decode(entry.json()).unwrap(),
        Answer::Object(object) => object.clone(),
        Answer::Success(status) => panic!("no object but {status:?}"),
    }
}

/// Returns two stores: directly on the engine, and behind a cache.
fn stores(directory: &tempfile::TempDir) -> [Arc<Store>; 2] {
    let open = |directory: std::path::PathBuf| {
        let engine = Embedded::open(EmbeddedOptions::new(directory)).unwrap();
        VersionedStore::new(engine, Arc::new(Identity), Arc::new(Versions::only(ANIMALS.instantiate())))
    };
    let bare: Arc<dyn Interface> = Arc::new(open(directory.path().join("bare")));
    let options = CacherOptions {
        prefix: "/registry/zoo.example.dev/animals/".to_owned(),
        indexes: ANIMALS.indexes,
        budget: Arc::new(CacheBudget::new(1 << 20)),
        history_events: 100,
        bookmark_period: Duration::from_mins(1),
    };
    let cached = Cacher::new(Arc::new(open(directory.path().join("cached"))), options);
    [bare, cached].map(|storage| Store::new(ANIMALS.instantiate(), storage, "/registry"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_lives_and_ends_on_a_real_engine() {
    let directory = tempfile::tempdir().unwrap();
    for store in stores(&directory) {
        live(&store).await;
    }
}

async fn live(store: &Arc<Store>) {
    let context = RequestContext::system("zoo");
    let write = CreateOptions::default();
    let made = store.create(&context, animal("lion", "ann").into(), &AdmitAll, &write).await.unwrap();
    let made = object_of(&made);
    store.create(&context, animal("frog", "bob").into(), &AdmitAll, &write).await.unwrap();
    let taken = store.create(&context, animal("lion", "eve").into(), &AdmitAll, &write).await.unwrap_err();
    assert_eq!(taken.code, 409);

    let read = store.get(&context, "lion", &GetOptions::default()).await.unwrap();
    assert_eq!(object_of(&read), made);
    let field_selector = FieldSelector::parse("spec.keeper=bob").unwrap();
    let bobs = ListOptions { field_selector, ..ListOptions::default() };
    let page = store.list(&context, &bobs).await.unwrap();
    assert_eq!(page.items.len(), 1);

    let from = ListOptions { resource_version: Some(page.revision), ..ListOptions::default() };
    let mut watch = store.watch(&context, &from).await.unwrap();
    edit(&**store, &context, |object| object.set(&["spec", "keeper"], "bob".into())).await;
    assert_eq!(store.list(&context, &bobs).await.unwrap().items.len(), 2);
    let status = SubresourceStore::status(store.clone());
    let reported = edit(&*status, &context, |object| object.set(&["status", "hungry"], true.into())).await;
    assert_eq!(reported.generation(), 2);
    edit(&**store, &context, |_| ()).await;

    store.delete(&context, "lion", &AdmitAll, &DeleteOptions::default()).await.unwrap();
    edit(&**store, &context, |object| object.set_finalizers(Vec::new())).await;
    let gone = store.get(&context, "lion", &GetOptions::default()).await.unwrap_err();
    assert_eq!(gone.message, "animals.zoo.example.dev \"lion\" not found");

    let expected = [("MODIFIED", "bob", false), ("MODIFIED", "bob", true), ("MODIFIED", "bob", true)];
    for (kind, keeper, hungry) in expected.into_iter().chain([("DELETED", "bob", true)]) {
        let event =
            tokio::time::timeout(Duration::from_secs(10), watch.next()).await.unwrap().unwrap().unwrap();
        let (found, object) = match event {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Bookmark { .. } => panic!("nobody asked for bookmarks"),
        };
        let object = stored::decode(object.json()).unwrap();
        assert_eq!((found, object.get_str(&["spec", "keeper"])), (kind, Some(keeper)));
        assert_eq!(object.get(&["status", "hungry"]).and_then(Value::as_bool).unwrap_or_default(), hungry);
    }
}

async fn edit(store: &dyn Updater, context: &RequestContext, edit: impl FnMut(&mut Object) + Send) -> Object {
    let options = CreateOptions::default();
    let (answer, _) = store.update(context, "lion", &mut Edit(edit), &AdmitAll, &options).await.unwrap();
    object_of(&answer)
}
