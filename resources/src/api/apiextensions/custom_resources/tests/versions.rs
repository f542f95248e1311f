//! Several versions of one kind.

use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc as _;
use serde_json::{Value, json};

use super::{Fixture, causes, definition, widget};

const KEY: &str = "/registry/example.com/widgets/default/a";

fn version(name: &str, is_storage: bool, spec: &Value) -> Value {
    json!({
        "name": name, "served": true, "storage": is_storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    })
}

fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn in_version(version: &str, name: &str, spec: &Value) -> Value {
    let mut object = widget(name, &json!({"spec": spec}));
    object["apiVersion"] = format!("example.com/{version}").into();
    object
}

#[tokio::test]
async fn only_the_api_version_differs() {
    let engine = Embedded::in_memory();
    let versions = json!([version("v1", false, &open()), version("v2", true, &open())]);
    let widgets = Fixture::over(engine.clone(), &definition(&versions));
    let created = widgets.create("v1", &in_version("v1", "a", &json!({"x": 1}))).await.unwrap();
    assert_eq!((&created["apiVersion"], &created["spec"]), (&json!("example.com/v1"), &json!({"x": 1})));
    let stored = engine.get(KEY).await.unwrap().key_value.unwrap().value;
    assert!(stored.starts_with(b"{\"apiVersion\":\"example.com/v2\""));
    let updated = widgets.change(("v2", None), "a", |object| object["spec"]["x"] = 2.into()).await.unwrap();
    assert_eq!(
        (&updated["apiVersion"], &updated["metadata"]["generation"]),
        (&json!("example.com/v2"), &json!(2))
    );
    let read = widgets.get(("v1", None), "a").await.unwrap();
    assert_eq!((&read["apiVersion"], &read["spec"]), (&json!("example.com/v1"), &json!({"x": 2})));
}

#[tokio::test]
async fn a_request_is_validated_by_its_own_version() {
    let short = json!({"type": "object", "properties": {"x": {"type": "string", "maxLength": 3}}});
    let long = json!({"type": "object", "properties": {"x": {"type": "string", "minLength": 5}}});
    let versions = json!([version("v1", false, &short), version("v2", true, &long)]);
    let widgets = Fixture::new(&definition(&versions));
    widgets.create("v1", &in_version("v1", "a", &json!({"x": "abc"}))).await.unwrap();
    let errors = causes(widgets.create("v1", &in_version("v1", "b", &json!({"x": "abcdef"}))).await);
    assert_eq!(errors, ["spec.x: Too long: may not be more than 3 bytes"]);
    let errors = causes(widgets.create("v2", &in_version("v2", "b", &json!({"x": "abc"}))).await);
    assert_eq!(errors, ["spec.x: Invalid value: \"abc\": spec.x in body should be at least 5 chars long"]);
    widgets.create("v2", &in_version("v2", "b", &json!({"x": "abcdef"}))).await.unwrap();
    let errors =
        causes(widgets.change(("v1", None), "a", |object| object["spec"]["x"] = "abcd".into()).await);
    assert_eq!(errors, ["spec.x: Too long: may not be more than 3 bytes"]);
}

#[tokio::test]
async fn the_hub_need_not_be_served() {
    let engine = Embedded::in_memory();
    let mut hub = version("v2", true, &open());
    hub["served"] = false.into();
    let widgets = Fixture::over(engine.clone(), &definition(&json!([version("v1", false, &open()), hub])));
    assert_eq!(widgets.paths.len(), 1);
    widgets.create("v1", &in_version("v1", "a", &json!({"x": 1}))).await.unwrap();
    let stored = engine.get(KEY).await.unwrap().key_value.unwrap().value;
    assert!(stored.starts_with(b"{\"apiVersion\":\"example.com/v2\""));
}

#[tokio::test]
async fn objects_of_an_earlier_storage_version_are_readable() {
    let engine = Embedded::in_memory();
    let before = Fixture::over(engine.clone(), &definition(&json!([version("v1", true, &open())])));
    before.create("v1", &in_version("v1", "a", &json!({"x": 1}))).await.unwrap();
    let mut old = version("v1", false, &open());
    old["served"] = false.into();
    let after = Fixture::over(engine, &definition(&json!([old, version("v2", true, &open())])));
    let read = after.get(("v2", None), "a").await.unwrap();
    assert_eq!((&read["apiVersion"], &read["spec"]), (&json!("example.com/v2"), &json!({"x": 1})));
}

#[tokio::test]
async fn each_version_has_its_own_subresources_and_selectors() {
    let mut first = version("v1", false, &open());
    first["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count",
    }});
    first["selectableFields"] = json!([{"jsonPath": ".spec.a"}]);
    first["schema"]["openAPIV3Schema"]["properties"]["status"] = open();
    let mut second = version("v2", true, &open());
    second["selectableFields"] = json!([{"jsonPath": ".spec.b"}]);
    second["schema"]["openAPIV3Schema"]["properties"]["status"] = open();
    let widgets = Fixture::new(&definition(&json!([first, second])));
    assert_eq!((widgets.paths[0].len(), widgets.paths[1].len()), (3, 1));
    let mut object = in_version("v1", "a", &json!({"a": "1", "b": "2", "count": 4}));
    object["status"] = json!({"x": 1});
    let created = widgets.create("v1", &object).await.unwrap();
    assert_eq!(created.get("status"), None);
    let changed =
        widgets.change(("v2", None), "a", |object| object["status"] = json!({"y": 1})).await.unwrap();
    assert_eq!(changed["status"], json!({"y": 1}));
    let changed =
        widgets.change(("v1", None), "a", |object| object["status"] = json!({"z": 1})).await.unwrap();
    assert_eq!(changed["status"], json!({"y": 1}));
    let scale = widgets.get(("v1", Some("scale")), "a").await.unwrap();
    assert_eq!(scale["spec"], json!({"replicas": 4}));
    assert_eq!(widgets.select("v1", "spec.a=1").await.unwrap(), ["a"]);
    assert_eq!(widgets.select("v2", "spec.b=2").await.unwrap(), ["a"]);
    for (version, field) in [("v1", "spec.b"), ("v2", "spec.a")] {
        let error = widgets.select(version, &format!("{field}=1")).await.unwrap_err();
        assert_eq!(error.message, format!("field label not supported: {field}"));
    }
}

#[tokio::test]
async fn a_server_without_webhooks_says_so() {
    let mut value = definition(&json!([version("v1", false, &open()), version("v2", true, &open())]));
    value["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "https://example.com"}, "conversionReviewVersions": ["v1"],
    }});
    let widgets = Fixture::new(&value);
    let error = widgets.create("v1", &in_version("v1", "a", &json!({}))).await.unwrap_err();
    let expected = "conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://example.com\": no webhooks can be \
                    called";
    assert_eq!(error.message, expected);
    // The stored version needs no conversion.
    widgets.create("v2", &in_version("v2", "a", &json!({}))).await.unwrap();
}

/// Returns a version whose schema has a field for each version, and a default for its own.
fn defaulting(name: &str, is_storage: bool) -> Value {
    let field = |version: &str| {
        let mut field = json!({"type": "boolean"});
        if version == name {
            field["default"] = true.into();
        }
        field
    };
    let fields = json!({"v1": field("v1"), "v2": field("v2")});
    let mut version = version(name, is_storage, &json!({"type": "object", "properties": fields}));
    version["selectableFields"] = json!([{"jsonPath": ".spec.v2"}]);
    version
}

#[tokio::test]
async fn defaults_of_the_stored_version_are_seen_but_not_stored() {
    let engine = Embedded::in_memory();
    let versions = json!([defaulting("v1", false), defaulting("v2", true)]);
    let widgets = Fixture::over(engine.clone(), &definition(&versions));
    let created = widgets.create("v1", &in_version("v1", "a", &json!({}))).await.unwrap();
    let both = json!({"v1": true, "v2": true});
    assert_eq!(created["spec"], both);
    let stored = engine.get(KEY).await.unwrap().key_value.unwrap();
    assert!(!String::from_utf8_lossy(&stored.value).contains("v2\":true"), "{stored:?}");
    for version in ["v1", "v2"] {
        assert_eq!(widgets.get((version, None), "a").await.unwrap()["spec"], both);
        assert_eq!(widgets.select(version, "spec.v2=true").await.unwrap(), ["a"], "selected by what is seen");
    }
    // Without the default again: nothing is written, and the object has it nevertheless.
    let replaced =
        widgets.change(("v1", None), "a", |object| object["spec"] = json!({"v1": true})).await.unwrap();
    assert_eq!((&replaced["spec"], &replaced["metadata"]["generation"]), (&both, &json!(2)));
    let created = widgets.create("v2", &in_version("v2", "b", &json!({}))).await.unwrap();
    assert_eq!(created["spec"], json!({"v2": true}), "the default of another version is never set");
    assert_eq!(widgets.get(("v1", None), "b").await.unwrap()["spec"], json!({"v2": true}));
}

#[tokio::test]
async fn an_object_of_an_earlier_storage_version_has_the_defaults_of_that_version() {
    let engine = Embedded::in_memory();
    let stored = in_version("v1", "a", &json!({"unknown": 1}));
    engine.put_if(KEY, 0, stored.to_string().into(), None).await.unwrap();
    let versions = json!([defaulting("v1", false), defaulting("v2", true)]);
    let widgets = Fixture::over(engine, &definition(&versions));
    assert_eq!(widgets.get(("v2", None), "a").await.unwrap()["spec"], json!({"v1": true}));
}
