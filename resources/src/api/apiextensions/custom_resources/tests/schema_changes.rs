//! Objects that were written under an earlier schema.

use std::sync::Arc;

use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc as _;
use serde_json::{Value, json};

use super::{Fixture, definition, schema, v1, widget};

const KEY: &str = "/registry/example.com/widgets/default/a";

fn before() -> Value {
    let spec = json!({"kept": {"type": "string"}, "gone": {"type": "string"}});
    definition(&json!([v1(
        &schema(&spec, &json!({})),
        &json!({"selectableFields": [{"jsonPath": ".spec.gone"}]})
    )]))
}

fn after() -> Value {
    let spec = json!({"kept": {"type": "string"}, "new": {"type": "string", "default": "set"}});
    definition(&json!([v1(
        &schema(&spec, &json!({})),
        &json!({"selectableFields": [{"jsonPath": ".spec.new"}]})
    )]))
}

async fn written_before() -> (Arc<Embedded>, u64) {
    let engine = Embedded::in_memory();
    let widgets = Fixture::over(engine.clone(), &before());
    widgets.create("v1", &widget("a", &json!({"spec": {"kept": "k", "gone": "g"}}))).await.unwrap();
    let revision = engine.get(KEY).await.unwrap().key_value.unwrap().mod_revision;
    (engine, revision)
}

#[tokio::test]
async fn they_are_read_in_the_present_form() {
    let (engine, revision) = written_before().await;
    let widgets = Fixture::over(engine.clone(), &after());
    let object = widgets.get(("v1", None), "a").await.unwrap();
    assert_eq!(object["spec"], json!({"kept": "k", "new": "set"}));
    assert_eq!(object["metadata"]["resourceVersion"], revision.to_string());
    assert_eq!(widgets.select("v1", "spec.new=set").await.unwrap(), ["a"]);
    // Reading wrote nothing; the next update does, even one without changes.
    assert_eq!(engine.get(KEY).await.unwrap().key_value.unwrap().mod_revision, revision);
    widgets.change(("v1", None), "a", |_| {}).await.unwrap();
    let stored = engine.get(KEY).await.unwrap().key_value.unwrap();
    assert!(stored.mod_revision > revision);
    let text = String::from_utf8(stored.value.to_vec()).unwrap();
    assert!(text.contains("\"new\":\"set\"") && !text.contains("gone"), "{text}");
    let again = widgets.change(("v1", None), "a", |_| {}).await.unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], stored.mod_revision.to_string());
}

#[tokio::test]
async fn deleted_objects_are_shown_in_the_present_form() {
    use futures::StreamExt as _;
    use registry_core::api::{DeleteOptions, ListOptions};
    use registry_core::rest::AdmitAll;
    use registry_core::storage::WatchEvent;

    let (engine, revision) = written_before().await;
    let widgets = Fixture::over(engine, &after());
    let path = widgets.path("v1", None);
    let context = widgets.context("v1");
    let options = ListOptions { resource_version: Some(revision), ..ListOptions::default() };
    let mut events = path.capabilities.watcher.as_ref().unwrap().watch(&context, &options).await.unwrap();
    let deleter = path.capabilities.deleter.as_ref().unwrap();
    deleter.delete(&context, "a", &AdmitAll, &DeleteOptions::default()).await.unwrap();
    let Some(Ok(WatchEvent::Deleted(entry))) = events.next().await else { panic!("not deleted") };
    let text = String::from_utf8(entry.json().to_vec()).unwrap();
    assert!(text.contains("\"new\":\"set\"") && !text.contains("gone"), "{text}");
}

#[tokio::test]
async fn malformed_metadata_of_earlier_servers_is_dropped() {
    let engine = Embedded::in_memory();
    let stored = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {
        "name": "a", "namespace": "default", "labels": {"x": 1}, "uid": "u", "generation": 1,
    }});
    let bytes = serde_json::to_vec(&stored).unwrap();
    engine.put_if(KEY, 0, bytes.into(), None).await.unwrap();
    let widgets = Fixture::over(engine, &after());
    let object = widgets.get(("v1", None), "a").await.unwrap();
    assert_eq!(object["metadata"].get("labels"), None);
}

#[tokio::test]
async fn objects_of_other_servers_are_repaired_whenever_they_are_read() {
    for (round, generation) in [json!(null), json!(0), json!("x"), json!(7)].into_iter().enumerate() {
        let stored = json!({"apiVersion": "example.com/v1", "kind": "Widget", "garbage": 1, "metadata": {
            "name": "a", "namespace": "default", "uid": "u", "unknown": 42, "generation": generation,
            "labels": {"invalid": "x y"}, "annotations": {"a": 42, "b": "c"}, "creationTimestamp": null,
        }, "spec": {"kept": "k", "gone": {"x": 1}}});
        let engine = Embedded::in_memory();
        engine.put_if(KEY, 0, stored.to_string().into(), None).await.unwrap();
        let widgets = Fixture::over(engine, &after());
        let mut read = widgets.get(("v1", None), "a").await.unwrap();
        let revision = read["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert!(revision.is_some());
        let generation = if round == 3 { 7 } else { 1 };
        let expected = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {
            "name": "a", "namespace": "default", "uid": "u", "generation": generation, "labels": {"invalid": "x y"},
        }, "spec": {"kept": "k", "new": "set"}});
        assert_eq!(read, expected);
    }
}

#[tokio::test]
async fn metadata_that_is_no_object_is_an_error_of_that_object_alone() {
    let engine = Embedded::in_memory();
    let widgets = Fixture::over(engine.clone(), &after());
    widgets.create("v1", &widget("b", &json!({}))).await.unwrap();
    let stored = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": [1]});
    engine.put_if(KEY, 0, stored.to_string().into(), None).await.unwrap();
    // Another cache: the first one does not wait for what is written beside it.
    let widgets = Fixture::over(engine, &after());
    let error = widgets.get(("v1", None), "a").await.unwrap_err();
    assert_eq!(error.code, 500, "{error:?}");
    widgets.get(("v1", None), "b").await.unwrap();
}

#[tokio::test]
async fn they_are_read_without_defaults_that_are_too_large() {
    let engine = Embedded::in_memory();
    let with_items = |item: &Value| {
        let spec = json!({"items": {"type": "array", "items": item}});
        definition(&json!([v1(&schema(&spec, &json!({})), &json!({}))]))
    };
    let earlier = with_items(&json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let widgets = Fixture::over(engine.clone(), &earlier);
    for (name, count) in [("many", 20_000), ("few", 2)] {
        let items = json!({"spec": {"items": vec![json!({}); count]}});
        widgets.create("v1", &widget(name, &items)).await.unwrap();
    }
    let later = with_items(
        &json!({"type": "object", "properties": {"a": {"type": "string", "default": "x".repeat(500)}}}),
    );
    let widgets = Fixture::over(engine, &later);
    let many = widgets.get(("v1", None), "many").await.unwrap();
    let items = many["spec"]["items"].as_array().unwrap();
    assert!(items.len() == 20_000 && items.iter().all(|item| item == &json!({})));
    let few = widgets.get(("v1", None), "few").await.unwrap();
    assert_eq!(few["spec"]["items"][1]["a"], "x".repeat(500));
}
