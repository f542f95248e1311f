//! Custom resources whose definition makes much of little.

use registry_core::codec::cbor;
use serde_json::{Map, Value, json};

use super::world::{BODY_BYTES, THINGS, World, repeated};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// Returns the properties of a definition with many defaults.
fn properties() -> Value {
    let text = |length: usize| json!({"type": "string", "default": "x".repeat(length)});
    let texts: Map<String, Value> = (0..20).map(|number| (format!("p{number:02}"), text(20))).collect();
    let item = json!({"type": "object", "properties": texts});
    let inner = json!({"type": "object", "default": {}, "properties": {"a": {"type": "object", "default": {},
        "properties": {"b": {"type": "array", "default": [{}, {}, {}], "items": item}}}}});
    json!({
        "many": {"type": "array", "items": item},
        "map": {"type": "object", "additionalProperties": item},
        "long": {"type": "array", "items": {"type": "object", "properties": {"text": text(100_000)}}},
        "nested": {"type": "array", "items": inner},
        "nulls": {"type": "array", "items": {"type": "object", "properties": {"a": text(1000)}}},
    })
}

fn json_body(field: &str, value: &str) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Thing","metadata":{{"name":"a"}},"spec":{{"{field}":{value}}}}}"#
    )
}

fn yaml_body(field: &str, line: &str) -> String {
    let lines = repeated(line, "\n", BODY_BYTES);
    format!("apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nspec:\n  {field}:\n{lines}\n")
}

fn list_of(part: &str) -> String {
    format!("[{}]", repeated(part, ",", BODY_BYTES))
}

fn fields(part: &str) -> String {
    let count = BODY_BYTES / (part.len() + 10);
    let fields: Vec<String> = (0..count).map(|number| format!("\"k{number:06}\":{part}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// Returns the bodies: their name, their media type, and the body.
fn bodies() -> Vec<(String, &'static str, Vec<u8>)> {
    let mut all = Vec::new();
    for field in ["many", "long", "nested"] {
        all.push((format!("{field} as JSON"), JSON, json_body(field, &list_of("{}")).into_bytes()));
        all.push((format!("{field} as YAML"), YAML, yaml_body(field, "  - {}").into_bytes()));
    }
    all.push(("map".to_owned(), JSON, json_body("map", &fields("{}")).into_bytes()));
    all.push(("nulls".to_owned(), JSON, json_body("nulls", &list_of(r#"{"a":null}"#)).into_bytes()));
    for part in [r#"{"a":1}"#, r#"{"":0}"#, "[0]", "[{}]", "0", "{}", r#"[{"":[{"":0}]}]"#, r#""""#] {
        all.push((format!("free {part}"), JSON, json_body("free", &list_of(part)).into_bytes()));
        all.push((format!("free map of {part}"), JSON, json_body("free", &fields(part)).into_bytes()));
    }
    for line in ["  - a: 1", "  - - 0", "  -"] {
        all.push((format!("free {line} as YAML"), YAML, yaml_body("free", line).into_bytes()));
    }
    let anchored = format!("  - &a [{}]\n", repeated("{a: 1}", ",", 8000));
    let aliased = yaml_body("free", "  - *a").replacen("  - *a", &anchored, 1);
    all.push(("aliases".to_owned(), YAML, aliased.into_bytes()));
    let items = vec![json!({"a": 1}); BODY_BYTES / 4];
    let small = cbor::encode(
        &json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {"free": items}}),
        None,
    );
    all.push(("free as CBOR".to_owned(), "application/cbor", small.to_vec()));
    all
}

#[tokio::test]
async fn hostile_custom_resources_take_bounded_memory() {
    let mut world = World::start().await;
    world.define(properties()).await;
    let mut complaints = Vec::new();
    for (name, media_type, body) in bodies() {
        let bytes = body.len();
        let path = format!("{THINGS}?dryRun=All");
        let answer = world.post(&path, media_type, body).await;
        complaints.extend(answer.complaint(&name, bytes));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn defaults_that_are_too_large_are_refused_with_the_reason() {
    let mut world = World::start().await;
    world.define(properties()).await;
    let body = json_body("many", &list_of("{}"));
    let refused = world.post(THINGS, JSON, body.clone()).await;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the request expands to more than 48 MiB", "reason": "RequestEntityTooLarge", "code": 413});
    assert_eq!((refused.status, refused.json()), (413, expected));
    let applied = body.replace("\"name\":\"a\"", "\"name\":\"applied\"");
    let path = format!("{THINGS}/applied?fieldManager=m");
    let refused = world.send("PATCH", &path, "application/apply-patch+yaml", applied.into()).await;
    assert_eq!(refused.status, 413, "{}", refused.text());

    let accepted = world.post(THINGS, JSON, json_body("many", "[{},{}]")).await;
    assert_eq!(accepted.status, 201);
    let merge = format!(r#"{{"spec":{{"many":{}}}}}"#, list_of("{}"));
    let operations = format!(r#"[{{"op":"add","path":"/spec/many","value":{}}}]"#, list_of("{}"));
    for (media_type, patch) in
        [("application/merge-patch+json", merge), ("application/json-patch+json", operations)]
    {
        let refused = world.send("PATCH", &format!("{THINGS}/a"), media_type, patch.into()).await;
        assert_eq!(refused.status, 413, "{media_type}: {}", refused.text());
        assert!(refused.complaint(media_type, BODY_BYTES).is_none());
    }
}

#[tokio::test]
async fn copies_of_a_patch_take_bounded_memory() {
    let mut world = World::start().await;
    world.define(properties()).await;
    let items = vec![json!({"a": 1}); 10_000];
    let body = json_body("free", &Value::from(items).to_string());
    assert_eq!(world.post(THINGS, JSON, body).await.status, 201);
    let copies: Vec<Value> = (0..10_000)
        .map(|number| json!({"op": "copy", "from": "/spec/free", "path": format!("/spec/copy{number}")}))
        .collect();
    let doubled: Vec<Value> =
        (0..100).map(|_| json!({"op": "copy", "from": "/spec", "path": "/spec/free/-"})).collect();
    for (name, patch) in [("copies", copies), ("doubled", doubled)] {
        let body = Value::from(patch).to_string();
        let answer = world
            .send("PATCH", &format!("{THINGS}/a"), "application/json-patch+json", body.clone().into())
            .await;
        assert_eq!(answer.status, 413, "{}", answer.text());
        assert_eq!(answer.complaint(name, body.len()), None);
    }
}
