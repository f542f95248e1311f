//! Creates and updates of the object, its status and its scale.

use serde_json::{Value, json};

use super::{Fixture, causes, definition, schema, v1, widget};

const MAIN: (&str, Option<&str>) = ("v1", None);
const STATUS: (&str, Option<&str>) = ("v1", Some("status"));
const SCALE: (&str, Option<&str>) = ("v1", Some("scale"));

/// Widgets with all subresources, as in the recorded cases.
fn widgets() -> Fixture {
    let spec = json!({
        "a": {"type": "string", "maxLength": 5},
        "replicas": {"type": "integer"},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    });
    let status =
        json!({"replicas": {"type": "integer"}, "selector": {"type": "string"}, "x": {"type": "string"}});
    let mut schema = schema(&spec, &status);
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([{"rule": "!has(self.a) || self.a != 'bad'", "message": "a is bad"}]);
    let more = json!({"subresources": {"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }}});
    Fixture::new(&definition(&json!([v1(&schema, &more)])))
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap()
}

#[tokio::test]
async fn the_status_belongs_to_its_subresource() {
    let widgets = widgets();
    let created =
        widgets.create("v1", &widget("a", &json!({"spec": {"a": "1"}, "status": {"x": "ignored"}}))).await;
    let created = created.unwrap();
    assert_eq!((created.get("status"), generation(&created)), (None, 1));
    let set = |object: &mut Value| {
        object["metadata"]["labels"] = json!({"l": "m"});
        object["spec"]["a"] = "no".into();
        object["status"] = json!({"x": "set"});
    };
    let updated = widgets.change(STATUS, "a", set).await.unwrap();
    assert_eq!((&updated["status"], &updated["spec"]), (&json!({"x": "set"}), &json!({"a": "1"})));
    assert_eq!((updated["metadata"].get("labels"), generation(&updated)), (None, 1));
    let set = |object: &mut Value| {
        object["spec"]["a"] = "2".into();
        object["status"]["x"] = "ignored".into();
    };
    let updated = widgets.change(MAIN, "a", set).await.unwrap();
    assert_eq!((&updated["status"], generation(&updated)), (&json!({"x": "set"}), 2));
    let label = |object: &mut Value| object["metadata"]["labels"] = json!({"l": "m"});
    assert_eq!(generation(&widgets.change(MAIN, "a", label).await.unwrap()), 2);
    assert_eq!(widgets.get(STATUS, "a").await.unwrap()["status"], json!({"x": "set"}));
}

#[tokio::test]
async fn without_the_subresource_the_status_is_a_field() {
    let schema = schema(&json!({}), &json!({"x": {"type": "string"}}));
    let widgets = Fixture::new(&definition(&json!([v1(&schema, &json!({}))])));
    let created = widgets.create("v1", &widget("a", &json!({"status": {"x": "kept"}}))).await.unwrap();
    assert_eq!(created["status"], json!({"x": "kept"}));
    let updated = widgets.change(MAIN, "a", |object| object["status"]["x"] = "new".into()).await.unwrap();
    assert_eq!((&updated["status"], generation(&updated)), (&json!({"x": "new"}), 2));
}

#[tokio::test]
async fn objects_are_validated() {
    let widgets = widgets();
    let errors = causes(widgets.create("v1", &widget("a", &json!({"spec": {"a": "bad"}}))).await);
    assert_eq!(errors, ["spec: Invalid value: a is bad"]);
    let invalid = json!({"spec": {"a": 3, "replicas": -1, "set": ["x", "x"]}});
    let errors = causes(widgets.create("v1", &widget("a", &invalid)).await);
    let expected = [
        "spec.a: Invalid value: \"integer\": spec.a in body must be of type string: \"integer\"",
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        "spec.set[1]: Duplicate value: \"x\"",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the \
         existing errors to complete validation",
    ];
    assert_eq!(errors, expected);
    let errors = causes(widgets.create("v1", &widget("A", &json!({"spec": {"a": "bad"}}))).await);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("metadata.name: Invalid value: \"A\""), "{errors:?}");
}

#[tokio::test]
async fn missing_metadata_blocks_rules() {
    let widgets = widgets();
    let errors = causes(widgets.create("v1", &widget("", &json!({"spec": {"a": "bad"}}))).await);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("metadata.name: Required value"), "{errors:?}");
    assert!(errors[1].starts_with("<nil>: Invalid value: null: some validation rules"), "{errors:?}");
}

#[tokio::test]
async fn the_status_is_validated_alone() {
    let widgets = widgets();
    widgets.create("v1", &widget("a", &json!({"spec": {"a": "1"}}))).await.unwrap();
    let set = |object: &mut Value| object["status"] = json!({"x": 1, "replicas": -1, "selector": "a"});
    let errors = causes(widgets.change(STATUS, "a", set).await);
    let expected = [
        "status.x: Invalid value: \"integer\": x in body must be of type string: \"integer\"",
        ".status.replicas: Invalid value: -1: should be a non-negative integer",
    ];
    assert_eq!(errors[..2], expected);
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[tokio::test]
async fn updates_need_a_resource_version() {
    let widgets = widgets();
    widgets.create("v1", &widget("a", &json!({}))).await.unwrap();
    let forget = |object: &mut Value| {
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    };
    let error = widgets.change(MAIN, "a", forget).await.unwrap_err();
    assert_eq!(error.code, 422);
    assert!(
        error.message.contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    );
    let missing = widgets.change(MAIN, "b", |_| {}).await.unwrap_err();
    assert_eq!(missing.code, 404);
}

#[tokio::test]
async fn scales_show_and_change_replicas() {
    let widgets = widgets();
    widgets.create("v1", &widget("a", &json!({"spec": {"replicas": 2}}))).await.unwrap();
    widgets
        .change(STATUS, "a", |object| object["status"] = json!({"replicas": 1, "selector": "a=b"}))
        .await
        .unwrap();
    let scale = widgets.get(SCALE, "a").await.unwrap();
    assert_eq!((&scale["kind"], &scale["spec"]), (&json!("Scale"), &json!({"replicas": 2})));
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "a=b"}));
    let scaled = widgets.change(SCALE, "a", |scale| scale["spec"]["replicas"] = 7.into()).await.unwrap();
    assert_eq!(scaled["spec"], json!({"replicas": 7}));
    let object = widgets.get(MAIN, "a").await.unwrap();
    assert_eq!((&object["spec"], generation(&object)), (&json!({"replicas": 7}), 2));
    // The error is about the object, not about its scale.
    let error =
        widgets.change(SCALE, "a", |scale| scale["spec"]["replicas"] = (-1).into()).await.unwrap_err();
    let expected = "Widget.example.com \"a\" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer";
    assert_eq!(error.message, expected);
}

#[tokio::test]
async fn unset_replicas_have_no_scale_until_they_are_set() {
    let widgets = widgets();
    widgets.create("v1", &widget("a", &json!({}))).await.unwrap();
    let error = widgets.get(SCALE, "a").await.unwrap_err();
    assert_eq!(error.code, 500);
    assert!(
        error.message.ends_with("the spec replicas field \".spec.replicas\" does not exist"),
        "{error:?}"
    );
    let error = widgets.change(SCALE, "a", |_| {}).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (400, "the spec replicas field \".spec.replicas\" cannot be empty")
    );
    let scaled = widgets.change(SCALE, "a", |scale| scale["spec"] = json!({"replicas": 1})).await.unwrap();
    assert_eq!(scaled["spec"], json!({"replicas": 1}));
}

#[tokio::test]
async fn unqualified_finalizers_are_accepted_with_a_warning() {
    let widgets = widgets();
    let context = widgets.context("v1");
    let mut object = widget("a", &json!({}));
    object["metadata"]["finalizers"] = json!(["cleanup"]);
    widgets.create_in(&context, "v1", &object).await.unwrap();
    assert_eq!(context.take_warnings().len(), 1);
    widgets.change_in(&context, MAIN, "a", |object| object["spec"] = json!({"a": "1"})).await.unwrap();
    assert!(context.take_warnings().is_empty());
}

#[tokio::test]
async fn errors_that_an_update_does_not_cause_do_not_refuse_it() {
    let engine = registry_core::storage::embedded::Embedded::in_memory();
    let spec = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let lax = schema(&spec, &json!({}));
    let mut strict = lax.clone();
    strict["properties"]["spec"]["properties"]["a"] =
        json!({"type": "string", "maxLength": 2, "x-kubernetes-validations": [{"rule": "self != 'long'"}]});
    let before = Fixture::over(engine.clone(), &definition(&json!([v1(&lax, &json!({}))])));
    before.create("v1", &widget("x", &json!({"spec": {"a": "long"}}))).await.unwrap();
    let after = Fixture::over(engine, &definition(&json!([v1(&strict, &json!({}))])));
    let context = after.context("v1");
    let updated =
        after.change_in(&context, MAIN, "x", |object| object["spec"]["b"] = "new".into()).await.unwrap();
    assert_eq!(updated["spec"], json!({"a": "long", "b": "new"}));
    assert_eq!(context.take_warnings(), ["spec.a: Invalid value: \"long\": failed rule: self != 'long'"]);
    let errors = causes(after.change(MAIN, "x", |object| object["spec"]["a"] = "longer".into()).await);
    assert_eq!(errors[0], "spec.a: Too long: may not be more than 2 bytes");
}
