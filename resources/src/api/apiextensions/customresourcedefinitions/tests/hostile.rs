//! Definitions made to cost the server much.

use std::time::{Duration, Instant};

use registry_core::api::DryRun;
use serde_json::{Map, Value, json};

use super::bench::Bench;
use super::widgets;

/// More than any of these takes without optimisation; what they cost if the work grows with the square is minutes.
const LIMIT: Duration = Duration::from_secs(30);

/// Posts a definition; returns the number of causes and the length of the message.
async fn post(body: &Value) -> (usize, usize) {
    let bench = Bench::new();
    let start = Instant::now();
    let reply = bench.post(body, DryRun::All).await;
    assert!(start.elapsed() < LIMIT, "took {:?}", start.elapsed());
    match reply.result {
        Ok(_) => (0, 0),
        Err(error) => {
            assert_eq!(error.code, 422);
            let causes = error.details.map(|details| details.causes.len()).unwrap_or_default();
            (causes, error.message.len())
        }
    }
}

fn many(count: usize, schema: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..count).map(|number| (format!("p{number}"), schema(number))).collect::<Map<_, _>>())
}

#[tokio::test]
async fn a_large_valid_schema_is_accepted() {
    let schema = json!({"type": "object", "properties": many(30_000, |_| json!({"type": "string"}))});
    assert_eq!(post(&widgets(&schema)).await, (0, 0));
}

#[tokio::test]
async fn errors_below_a_very_long_name_stay_few() {
    let inner = json!({"type": "object", "properties": many(30_000, |_| json!({}))});
    let schema = json!({"type": "object", "properties": {"x".repeat(500_000): inner}});
    let (causes, length) = post(&widgets(&schema)).await;
    assert!(causes > 0);
    assert!(length < 4 << 20, "{length}");
}

#[tokio::test]
async fn a_long_list_of_unknown_keys_is_not_repeated_for_each() {
    let keys: Vec<String> = (0..30_000).map(|number| format!("k{number}")).collect();
    let list = json!({
        "type": "array", "items": {"type": "object"},
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
    });
    let schema = json!({"type": "object", "properties": {"list": list}});
    let (causes, length) = post(&widgets(&schema)).await;
    assert!(causes > 0);
    assert!(length < 4 << 20, "{length}");
}

#[tokio::test]
async fn defaults_at_every_level_cost_what_the_schema_costs() {
    let mut schema = json!({"type": "object", "properties": many(10_000, |_| json!({"type": "string"}))});
    for _ in 0..50 {
        schema = json!({"type": "object", "default": {}, "properties": {"below": schema}});
    }
    let schema = json!({"type": "object", "properties": {"spec": schema}});
    assert_eq!(post(&widgets(&schema)).await, (0, 0));
}

#[tokio::test]
async fn very_many_versions_with_one_name_are_shown_within_a_limit() {
    let mut body = widgets(&json!({"type": "object"}));
    let version = |number: usize| {
        let schema = json!({"type": "object", "description": number.to_string()});
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}})
    };
    body["spec"]["versions"] = (0..5_000).map(version).collect();
    let (causes, length) = post(&body).await;
    assert!(causes >= 2);
    assert!(length < 4 << 20, "{length}");
}

#[tokio::test]
async fn a_path_of_slashes_is_not_shown_for_each_segment() {
    let mut body = widgets(&json!({"type": "object"}));
    let service = json!({"namespace": "a", "name": "b", "path": "/".repeat(500_000)});
    body["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}},
    });
    let (causes, _) = post(&body).await;
    assert!((1..100).contains(&causes), "{causes}");
}

#[tokio::test]
async fn restrictions_below_restrictions_are_each_checked_once() {
    let mut schema = json!({"type": "object"});
    for _ in 0..50 {
        schema = json!({"allOf": [schema.clone()], "anyOf": [{"required": ["a"]}]});
    }
    schema["type"] = json!("object");
    let (causes, _) = post(&widgets(&schema)).await;
    assert_eq!(causes, 1);
}

#[tokio::test]
async fn expressions_of_large_classes_are_checked_without_being_compiled() {
    let mut body = widgets(&json!({"type": "object"}));
    let version = |number: usize| {
        let name = |letter: char| format!("^{letter}{number}\\pL{{900}}$");
        let properties = json!({
            "a": {"type": "string", "pattern": name('a')}, "b": {"type": "string", "pattern": name('b')},
        });
        let schema = json!({"type": "object", "properties": properties});
        json!({
            "name": format!("v{}", number + 1), "served": true, "storage": number == 0,
            "schema": {"openAPIV3Schema": schema},
        })
    };
    body["spec"]["versions"] = (0..100).map(version).collect();
    assert_eq!(post(&body).await, (0, 0), "Go accepts each of them");
}

#[tokio::test]
async fn very_many_small_expressions_are_limited() {
    let properties = many(20_000, |number| json!({"type": "string", "pattern": format!("^{number}$")}));
    let (causes, _) = post(&widgets(&json!({"type": "object", "properties": properties}))).await;
    assert!(causes > 1_000, "{causes}");
}

#[tokio::test]
async fn very_many_versions_and_names_are_refused() {
    let list = |prefix: &str| (0..10_000).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>();
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    for field in ["shortNames", "categories"] {
        let mut body = widgets(&json!({"type": "object"}));
        body["spec"]["names"][field] = json!(list("s"));
        assert_eq!(post(&body).await.0, 1, "{field}");
    }
    let mut body = widgets(&json!({"type": "object"}));
    let version =
        |name: &String| json!({"name": name, "served": true, "storage": name == "v0", "schema": schema});
    body["spec"]["versions"] = list("v").iter().map(version).collect();
    assert_eq!(post(&body).await.0, 1);
}

#[tokio::test]
async fn changes_of_many_versions_with_rules_cost_what_the_versions_cost() {
    let rules: Vec<Value> = (0..100).map(|number| json!({"rule": format!("{number} == {number}")})).collect();
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": rules}});
    let version = |number: usize| json!({"name": format!("v{number}"), "served": true, "storage": number == 1, "schema": schema});
    let mut body = widgets(&json!({"type": "object"}));
    body["spec"]["versions"] = (1..=100).map(version).collect();
    let bench = Bench::new();
    bench.post(&body, DryRun::Off).await.result.unwrap();
    let start = Instant::now();
    body["metadata"]["labels"] = json!({"a": "b"});
    bench.put(&body, DryRun::Off).await.result.unwrap();
    assert!(start.elapsed() < LIMIT, "took {:?}", start.elapsed());
}
