//! Unusual patches and configurations, and those that cannot be applied.

use http::Method;
use serde_json::{Value, json};

use crate::fixture::{Server, config_map};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

async fn server() -> Server {
    let server = Server::start().await;
    server.post("/api/v1/namespaces/default/configmaps", &config_map("a")).await.expect(201);
    server
}

#[tokio::test]
async fn a_strategic_patch_makes_the_kind_of_its_path() {
    let server = server().await;
    let patch =
        async |path: &str, body: &'static str| server.write(Method::PATCH, path, STRATEGIC, body).await;
    let renamed =
        patch(MAP, r#"{"kind":"Zork","apiVersion":"v9","data":{"l":"1"}}"#).await.expect(200).json();
    assert_eq!((&renamed["kind"], &renamed["data"]["l"]), (&json!("ConfigMap"), &json!("1")));
    let nameless = patch(MAP, r#"{"$patch":"delete"}"#).await.failure();
    assert_eq!(nameless.0, 400);
    assert!(nameless.1.ends_with("name must be provided"), "{}", nameless.1);

    let invalid =
        |patch: &str, why: &str| (422, format!(" \"\" is invalid: patch: Invalid value: {patch:?}: {why}"));
    for (body, shown, why) in [
        (r#"{"data":{"k":5}}"#, "map[data:map[k:5]]", "cannot convert int64 to string"),
        (r#"{"data":{"k":true}}"#, "map[data:map[k:true]]", "unrecognized type: string"),
        (r#"{"data":["k"]}"#, "map[data:[k]]", "cannot restore map from slice"),
        (
            r#"{"metadata":{"finalizers":"f"}}"#,
            "map[metadata:map[finalizers:f]]",
            "cannot restore slice from string",
        ),
        (r#"{"metadata":"m"}"#, "map[metadata:m]", "cannot restore struct from: string"),
    ] {
        assert_eq!(patch(MAP, body).await.failure(), invalid(shown, why));
    }
    let strict = patch(&format!("{MAP}?fieldValidation=Strict"), r#"{"zork":1,"a":2}"#).await.failure();
    let why = "strict decoding error: unknown field \"a\", unknown field \"zork\"";
    assert_eq!(strict, invalid("map[a:2 zork:1]", why));
}

#[tokio::test]
async fn fields_that_operations_do_not_have_are_told_or_refused() {
    let server = server().await;
    let body = r#"[{"op":"add","path":"/data/l","value":"1","form":"x","op":"add"}]"#;
    let patch = async |query: &str| {
        server.write(Method::PATCH, &format!("{MAP}?dryRun=All{query}"), JSON, body).await
    };
    assert_eq!(
        patch("").await.expect(200).warnings(),
        [
            "299 - \"json patch unknown field \\\"[0].form\\\"\"",
            "299 - \"json patch duplicate field \\\"[0].op\\\"\"",
        ]
    );
    let strict = patch("&fieldValidation=Strict").await.failure();
    let why =
        "strict decoding error: json patch unknown field \"[0].form\", json patch duplicate field \"[0].op\"";
    assert!(strict.0 == 422 && strict.1.ends_with(why), "{}", strict.1);
    assert!(patch("&fieldValidation=Ignore").await.expect(200).warnings().is_empty());
    let patch = r#"[{"foo":1,"foo":{"a":1,"a":2},"op":"test","op":"add","path":"/data/j","value":"1"}]"#;
    let strict = server.write(Method::PATCH, &format!("{MAP}?fieldValidation=Strict"), JSON, patch).await;
    let why =
        "strict decoding error: json patch unknown field \"[0].foo\", json patch duplicate field \"[0].op\"";
    let strict = strict.failure();
    assert!(strict.1.ends_with(why), "{}", strict.1);
}

#[tokio::test]
async fn operations_test_and_replace_the_whole_object() {
    let server = server().await;
    let patch = async |operations: Value| {
        server.write(Method::PATCH, MAP, JSON, serde_json::to_vec(&operations).unwrap()).await
    };
    let replace = |value: Value| json!({"op": "replace", "path": "", "value": value});
    let before = server.get(MAP).await.expect(200).json();
    let wanted = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": {"x": "q"},
    });
    let test = |value: &Value| json!({"op": "test", "path": "", "value": value});
    let after = patch(json!([test(&before), replace(wanted.clone())])).await.expect(200).json();
    assert_eq!(after["data"], json!({"x": "q"}));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);

    let rejected = "the server rejected our request due to an error in our request";
    for operations in [
        json!([test(&before), replace(wanted.clone())]),
        json!([replace(json!("text"))]),
        json!([replace(Value::Null)]),
        json!([{"op": "remove", "path": ""}]),
    ] {
        assert_eq!(patch(operations).await.failure(), (422, rejected.to_owned()));
    }
    let list = patch(json!([replace(json!([wanted]))])).await.failure();
    assert!(list.0 == 422 && list.1.contains("patch: Invalid value"), "{}", list.1);
    let nameless = patch(json!([replace(json!({"apiVersion": "v1", "kind": "ConfigMap"}))])).await.failure();
    assert_eq!(nameless.0, 400, "{}", nameless.1);
    assert_eq!(server.get(MAP).await.expect(200).json(), after);
}

#[tokio::test]
async fn keys_that_come_twice_in_yaml_are_told_with_their_lines() {
    let server = server().await;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n  k: two\n";
    let lines = "yaml: unmarshal errors:\n  line 7: key \"k\" already set in map";
    let apply = async |query: &str| {
        server.write(Method::PATCH, &format!("{MAP}?fieldManager=m&force=true{query}"), APPLY, yaml).await
    };
    let refused = apply("&fieldValidation=Strict").await.failure();
    let text = format!("error strict decoding YAML: error converting YAML to JSON: {lines}");
    assert_eq!(refused, (400, text));
    // Each line is a warning of its own, because a header cannot contain newlines.
    let warnings = ["299 - \"line 7: key \\\"k\\\" already set in map\""];
    assert_eq!(apply("").await.expect(200).warnings(), warnings);
    let put = format!("{MAP}?fieldValidation=Strict");
    let refused = server.write(Method::PUT, &put, "application/yaml", yaml).await.failure();
    assert!(
        refused.0 == 400 && refused.1.ends_with(&format!("strict decoding error: {lines}")),
        "{}",
        refused.1
    );
}

#[tokio::test]
async fn a_configuration_for_a_certain_object_makes_no_other() {
    let server = server().await;
    let applied = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","uid":"u"}}"#;
    let path = "/api/v1/namespaces/default/configmaps/b?fieldManager=m";
    let refused = server.write(Method::PATCH, path, APPLY, applied).await.failure();
    let why = "uid mismatch: the provided object specified uid u, and no existing object was found";
    assert_eq!(refused, (409, format!("Operation cannot be fulfilled on configmaps \"b\": {why}")));
    server.get("/api/v1/namespaces/default/configmaps/b").await.expect(404);
}
