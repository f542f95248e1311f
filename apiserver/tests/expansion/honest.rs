//! Large objects that kube-apiserver accepts.

use serde_json::{Map, Value, json};

use super::world::{CONFIG_MAPS, MAX_PEAK_BYTES, THINGS, World};

const JSON: &str = "application/json";

/// Returns a list of containers as users write them, of about this size.
fn containers(bytes: usize) -> Vec<Value> {
    let container = |number: usize| {
        json!({"name": format!("container-{number}"), "image": "registry.example.com/team/image:v1.2.3",
            "ports": [{"port": 8080, "name": "http"}], "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}})
    };
    let length = container(1000).to_string().len() + 1;
    (0..bytes / length).map(container).collect()
}

fn thing(name: &str, spec: &Value) -> String {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec})
        .to_string()
}

#[tokio::test]
async fn large_objects_are_accepted() {
    let mut world = World::start().await;
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "image": {"type": "string"},
        "policy": {"type": "string", "default": "IfNotPresent"},
        "ports": {"type": "array", "items": {"type": "object", "properties": {
            "port": {"type": "integer"}, "name": {"type": "string"}, "protocol": {"type": "string", "default": "TCP"}}}},
        "resources": {"type": "object", "default": {}, "properties": {
            "limits": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
    world.define(json!({"containers": {"type": "array", "items": item}})).await;
    let data: Map<String, Value> =
        (0..1024).map(|number| (format!("k{number}"), "x".repeat(1000).into())).collect();
    let keys: Map<String, Value> =
        (0..20_000).map(|number| (format!("key-{number}"), "value".into())).collect();
    for (name, data) in [("long", data), ("many", keys)] {
        let body = json!({"metadata": {"name": name}, "data": data}).to_string();
        let answer = world.post(CONFIG_MAPS, JSON, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        assert!(answer.peak_bytes < MAX_PEAK_BYTES, "{name}: {} MiB", answer.peak_bytes >> 20);
    }
    for (name, spec) in [
        ("large", json!({"containers": containers(1_200_000)})),
        ("numbers", json!({"free": (0..200_000).collect::<Vec<u32>>()})),
        ("elements", json!({"free": vec![json!({"a": 1, "b": "c"}); 10_000]})),
    ] {
        let body = thing(name, &spec);
        let created = world.post(THINGS, JSON, body.clone()).await;
        assert_eq!(created.status, 201, "{name}: {}", created.text());
        let present: Value = created.json();
        let path = format!("{THINGS}/{name}");
        let updated = world.send("PUT", &path, JSON, present.to_string().into()).await;
        assert_eq!(updated.status, 200, "{name}: {}", updated.text());
        let patch = r#"{"metadata":{"labels":{"a":"b"}}}"#;
        let patched = world.send("PATCH", &path, "application/merge-patch+json", patch.into()).await;
        assert_eq!(patched.status, 200, "{name}: {}", patched.text());
        let path = format!("{path}?fieldManager=m&force=true");
        let applied = world.send("PATCH", &path, "application/apply-patch+yaml", body.clone().into()).await;
        assert_eq!(applied.status, 200, "{name}: {}", applied.text());
        for (what, answer) in
            [("create", created), ("update", updated), ("patch", patched), ("apply", applied)]
        {
            assert!(answer.peak_bytes < MAX_PEAK_BYTES, "{name} {what}: {} MiB", answer.peak_bytes >> 20);
        }
    }
}

#[tokio::test]
async fn a_definition_of_a_mebibyte_is_accepted() {
    let mut world = World::start().await;
    let field = |number: usize| {
        let text = "The description of a field, as authors write them for their users.";
        (format!("field{number}"), json!({"type": "string", "description": text}))
    };
    let fields: Map<String, Value> = (0..9_500).map(field).collect();
    world.define(json!({"fields": {"type": "object", "properties": fields}})).await;
    let answer = world.post(THINGS, JSON, thing("a", &json!({"fields": {"field1": "x"}}))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}
