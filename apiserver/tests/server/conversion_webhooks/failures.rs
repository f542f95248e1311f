//! Failures of a webhook on every path of a resource.

use serde_json::{Value, json};

use crate::custom_resources::Client;

use super::webhook::{Behavior, Webhook};
use super::{TestServer, V1, V2, definition, host};

/// The requests through the converted version, with their bodies.
fn requests(object: &Value) -> Vec<(&'static str, String, Value)> {
    let named = format!("{V2}/a");
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "a" }, "spec": { "replicas": 4 },
    });
    let patch = json!({ "metadata": { "annotations": { "x": "y" } } });
    vec![
        ("GET", named.clone(), Value::Null),
        ("GET", V2.to_owned(), Value::Null),
        ("POST", V2.to_owned(), host("v2", "b", &json!({ "host": "x", "port": "1" }))),
        ("PUT", named.clone(), object.clone()),
        ("PATCH", named.clone(), patch.clone()),
        ("PATCH", named.clone(), json!({})),
        ("GET", format!("{named}/status"), Value::Null),
        ("PUT", format!("{named}/status"), object.clone()),
        ("PATCH", format!("{named}/status"), patch),
        ("GET", format!("{named}/scale"), Value::Null),
        ("PUT", format!("{named}/scale"), scale),
        ("PATCH", format!("{named}/scale"), json!({ "spec": { "replicas": 5 } })),
        ("DELETE", named, Value::Null),
        ("DELETE", V2.to_owned(), Value::Null),
    ]
}

async fn started() -> (TestServer, Client, Webhook) {
    let webhook = Webhook::start().await;
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let mut scaled = definition(&webhook.client_config(), &json!(["v1"]));
    for version in scaled["spec"]["versions"].as_array_mut().unwrap() {
        // Only one of the versions has the number where the scale is.
        let field = if version["name"] == "v1" { "count" } else { "replicas" };
        let schema = &mut version["schema"]["openAPIV3Schema"]["properties"];
        schema["spec"]["properties"]["replicas"] = json!({ "type": "integer" });
        version["subresources"]["scale"] =
            json!({ "specReplicasPath": format!(".spec.{field}"), "statusReplicasPath": ".status.count" });
    }
    client.define(scaled).await;
    (server, client, webhook)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_reach_the_client_on_every_path() {
    let (server, mut client, webhook) = started().await;
    let spec = json!({ "hostPort": "x:1", "replicas": 3 });
    client.expect(201, "POST", V1, host("v1", "a", &spec)).await;
    let mut object = client.get(&format!("{V1}/a")).await;
    object["apiVersion"] = json!("example.com/v2");
    for (behavior, message) in [
        (Behavior::DropObject, "returned 0 objects, expected 1"),
        (Behavior::Refuse, "failed: it is too hot"),
        (Behavior::Reject, "the server rejected our request due to an error in our request"),
    ] {
        webhook.set(behavior);
        for (method, path, body) in requests(&object) {
            let failed = client.expect(500, method, &path, body).await;
            let text = failed["message"].as_str().unwrap();
            assert!(text.ends_with(message), "{behavior:?} {method} {path}: {text}");
        }
    }
    assert_eq!(client.get(&format!("{V1}/a")).await["spec"], spec, "nothing was changed");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scale_is_that_of_the_version_asked_for() {
    let (server, mut client, _webhook) = started().await;
    client.expect(201, "POST", V1, host("v1", "a", &json!({ "hostPort": "x:1", "replicas": 3 }))).await;
    let scale = format!("{V2}/a/scale");
    assert_eq!(client.get(&scale).await["spec"]["replicas"], 3);
    let changed = client.expect(200, "PATCH", &scale, json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!(changed["spec"]["replicas"], 5);
    let again = client.expect(200, "PATCH", &scale, json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!(again["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"]);
    let stored = client.get(&format!("{V1}/a")).await;
    assert_eq!(stored["spec"], json!({ "hostPort": "x:1", "replicas": 5 }));
    let missing = client.expect(500, "GET", &format!("{V1}/a/scale"), Value::Null).await;
    assert!(missing["message"].as_str().unwrap().contains("\".spec.count\" does not exist"), "{missing}");
    server.stop().await;
}
