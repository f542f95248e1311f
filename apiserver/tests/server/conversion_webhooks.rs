//! Custom resources that a webhook converts.

use apiserver::testing::TestServer;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol};
use crate::custom_resources::Client;

mod failures;
mod selection;
mod webhook;

use webhook::{Behavior, TIMEOUT, Webhook};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/hosts.example.com";
const V1: &str = "/apis/example.com/v1/namespaces/default/hosts";
const V2: &str = "/apis/example.com/v2/namespaces/default/hosts";

/// Returns a definition with `v1` stored and `v2` served.
fn definition(client_config: &Value, review_versions: &Value) -> Value {
    let version = |name: &str, is_storage: bool, fields: &[&str]| {
        let fields: serde_json::Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), json!({ "type": "string" }))).collect();
        let status = json!({ "type": "object", "properties": { "phase": { "type": "string" } } });
        let spec = json!({ "type": "object", "properties": fields });
        let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
        json!({
            "name": name, "served": true, "storage": is_storage,
            "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
        })
    };
    let versions = json!([version("v1", true, &["hostPort"]), version("v2", false, &["host", "port"])]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "hosts.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": { "plural": "hosts", "kind": "Host" },
            "conversion": { "strategy": "Webhook", "webhook": {
                "conversionReviewVersions": review_versions, "clientConfig": client_config,
            }},
        },
    })
}

fn host(version: &str, name: &str, spec: &Value) -> Value {
    let api_version = format!("example.com/{version}");
    json!({ "apiVersion": api_version, "kind": "Host", "metadata": { "name": name }, "spec": spec })
}

fn v1(name: &str) -> Value {
    host("v1", name, &json!({ "hostPort": "example.org:80" }))
}

async fn started() -> (TestServer, Client, Webhook) {
    let webhook = Webhook::start().await;
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    client.define(definition(&webhook.client_config(), &json!(["v1"]))).await;
    (server, client, webhook)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_versions_are_read_and_written() {
    let (server, mut client, webhook) = started().await;
    let spec = json!({ "host": "a.example.org", "port": "80" });
    let made = client.expect(201, "POST", V2, host("v2", "a", &spec)).await;
    assert_eq!((&made["apiVersion"], &made["spec"]), (&json!("example.com/v2"), &spec));
    let review = webhook.last();
    assert_eq!(
        (&review["apiVersion"], &review["kind"]),
        (&json!("apiextensions.k8s.io/v1"), &json!("ConversionReview"))
    );
    assert_eq!(review["query"], "timeout=30s");

    let read = client.get(&format!("{V1}/a")).await;
    assert_eq!(read["spec"], json!({ "hostPort": "a.example.org:80" }));
    assert_eq!(read["metadata"]["uid"], made["metadata"]["uid"]);
    client.expect(201, "POST", V1, v1("b")).await;
    let calls = webhook.calls();
    let list = client.get(V2).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("HostList"), &json!("example.com/v2")));
    let hosts: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["spec"]["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, ["a.example.org", "example.org"]);
    assert!(webhook.calls() <= calls + 1, "a list is one call");
    let calls = webhook.calls();
    client.get(V1).await;
    assert_eq!(webhook.calls(), calls, "stored objects in the wanted version are not sent");

    let mut changed = client.get(&format!("{V2}/a")).await;
    changed["spec"]["port"] = json!("81");
    let changed = client.expect(200, "PUT", &format!("{V2}/a"), changed).await;
    assert_eq!((&changed["spec"]["port"], &changed["metadata"]["generation"]), (&json!("81"), &json!(2)));
    let patched = client.expect(200, "PATCH", &format!("{V2}/a"), json!({ "spec": { "port": "82" } })).await;
    assert_eq!(patched["spec"], json!({ "host": "a.example.org", "port": "82" }));
    let patch = json!({ "status": { "phase": "Up" }, "spec": { "port": "1" } });
    client.expect(200, "PATCH", &format!("{V2}/a/status"), patch).await;
    let read = client.get(&format!("{V1}/a")).await;
    assert_eq!(
        (&read["spec"]["hostPort"], &read["status"]["phase"]),
        (&json!("a.example.org:82"), &json!("Up"))
    );
    assert!(webhook.connections() < webhook.calls() / 2, "connections are used again");
    client.expect(200, "DELETE", &format!("{V2}/a"), Value::Null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_are_applied_in_either_version() {
    let (server, mut client, _webhook) = started().await;
    let applied = host("v2", "a", &json!({ "host": "x", "port": "1" }));
    let apply = |version: &str, manager: &str| {
        let path = if version == "v1" { V1 } else { V2 };
        format!("{path}/a?fieldManager={manager}")
    };
    let made = client.apply(&apply("v2", "one"), &applied).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let again =
        client.apply(&apply("v2", "one"), &host("v2", "a", &json!({ "host": "x", "port": "2" }))).await;
    assert_eq!(again.json()["spec"], json!({ "host": "x", "port": "2" }));
    let other = client.apply(&apply("v1", "two"), &host("v1", "a", &json!({ "hostPort": "y:3" }))).await;
    assert_eq!(other.status, 409, "{}", other.text());
    let read = client.get(&format!("{V1}/a")).await;
    assert_eq!(read["spec"]["hostPort"], "x:2");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_storage_version_converts_what_is_stored() {
    let (server, mut client, webhook) = started().await;
    for name in ["a", "b", "c"] {
        client.expect(201, "POST", V1, v1(name)).await;
    }
    let mut changed = client.get(DEFINITION).await;
    changed["spec"]["versions"][0]["storage"] = json!(false);
    changed["spec"]["versions"][1]["storage"] = json!(true);
    client.expect(200, "PUT", DEFINITION, changed).await;
    client.until(DEFINITION, |found| found["status"]["storedVersions"] == json!(["v1", "v2"])).await;
    let calls = webhook.calls();
    let list = client.until(V2, |list| list["items"].as_array().is_some_and(|items| items.len() == 3)).await;
    assert_eq!(list["items"][0]["spec"], json!({ "host": "example.org", "port": "80" }));
    assert!(webhook.calls() >= calls);
    let read = client.get(&format!("{V1}/a")).await;
    assert_eq!(read["spec"], json!({ "hostPort": "example.org:80" }));
    // Written in the new version although nothing else changes.
    let before = client.get(&format!("{V2}/a")).await;
    let after = client.expect(200, "PUT", &format!("{V2}/a"), before.clone()).await;
    assert_ne!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    let again = client.expect(200, "PUT", &format!("{V2}/a"), after.clone()).await;
    assert_eq!(again["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lies_are_refused_and_nothing_of_them_is_kept() {
    let (server, mut client, webhook) = started().await;
    let made = client.expect(201, "POST", V1, v1("a")).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let of = "conversion webhook for example.com/v1, Kind=Host";
    let posted = format!("{of} failed: Post \"{}?timeout=30s\":", webhook.url());
    for (behavior, message) in [
        (Behavior::Rename, format!("{of} returned invalid object: must have the same name: a != other")),
        (
            Behavior::OtherNamespace,
            format!("{of} returned invalid object: must have the same namespace: default != other"),
        ),
        (Behavior::OtherUid, format!("{of} returned invalid object: must have the same UID: {uid} != 1")),
        (Behavior::DropObject, format!("{of} returned 0 objects, expected 1")),
        (
            Behavior::WrongType,
            format!(
                "{of} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Review"
            ),
        ),
        (
            Behavior::Nothing,
            format!(
                "{of} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
            ),
        ),
        (
            Behavior::WrongVersion,
            format!(
                "{of} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v7)"
            ),
        ),
        (
            Behavior::WrongKind,
            format!("{of} returned invalid object at index 0: invalid kind (expected Host, received Gadget)"),
        ),
        (Behavior::Refuse, format!("{of} failed: it is too hot")),
        (
            Behavior::Fail,
            format!(
                "{of} failed: an error on the server (\"out of order\") has prevented the request from succeeding"
            ),
        ),
        (
            Behavior::Redirect,
            format!(
                "{of} failed: the server responded with the status code 307 but did not return more information"
            ),
        ),
        (Behavior::HangUp, format!("{posted} EOF")),
        (Behavior::Garbage, format!("{of} failed: couldn't get version/kind; json parse error: ")),
        (Behavior::Large, format!("{posted} the answer is larger than 419")),
        (Behavior::WrongReview, format!("{of} failed: expected response.uid=")),
        (
            Behavior::BadLabel,
            format!("{of} returned invalid metadata: metadata.labels: Invalid value: \"not so\": "),
        ),
    ] {
        webhook.set(behavior);
        for path in [format!("{V2}/a"), V2.to_owned()] {
            let answer = client.send("GET", &path, &Value::Null).await;
            assert_eq!(answer.status, 500, "{behavior:?}: {}", answer.text());
            let text = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(text.starts_with(&message), "{behavior:?}: {text}");
        }
    }
    webhook.set(Behavior::Finalize);
    let read = client.get(&format!("{V2}/a")).await;
    assert_eq!((&read["metadata"]["generation"], read["metadata"].get("finalizers")), (&json!(1), None));
    assert_eq!(read["spec"]["host"], "example.org", "a failure is not kept");
    webhook.set(Behavior::Refuse);
    let refused = client.send("POST", V2, &host("v2", "b", &json!({ "host": "x", "port": "1" }))).await;
    assert_eq!(refused.status, 500);
    let text = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(text.ends_with("Kind=Host failed: it is too hot"), "{text}");
    webhook.set(Behavior::Label);
    let labelled =
        client.expect(201, "POST", V2, host("v2", "b", &json!({ "host": "x", "port": "1" }))).await;
    assert_eq!(labelled["metadata"]["labels"], json!({ "converted": "yes" }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_is_converted_and_ends_with_an_error() {
    let (server, mut client, webhook) = started().await;
    client.expect(201, "POST", V1, v1("a")).await;
    let mut watcher = Connection::open(&server, Protocol::Http2).await;
    let mut events = watcher.stream(&format!("{V2}?watch=1&resourceVersion=0")).await;
    let first = tokio::time::timeout(TIMEOUT, events.frame()).await.unwrap().unwrap().unwrap();
    let first: Value = serde_json::from_slice(first.data_ref().unwrap()).unwrap();
    assert_eq!((&first["type"], &first["object"]["spec"]["port"]), (&json!("ADDED"), &json!("80")));
    webhook.set(Behavior::Refuse);
    client.expect(201, "POST", V1, v1("b")).await;
    let rest =
        tokio::time::timeout(TIMEOUT, events.collect()).await.expect("the watch ends").unwrap().to_bytes();
    let last: Value = serde_json::from_slice(&rest).unwrap();
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(500)));
    assert!(last["object"]["message"].as_str().unwrap().ends_with("failed: it is too hot"), "{last}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_share_conversions() {
    let (server, mut client, webhook) = started().await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        let mut watcher = Connection::open(&server, Protocol::Http2).await;
        watches.push((watcher.stream(&format!("{V2}?watch=1")).await, watcher));
    }
    let calls = webhook.calls();
    client.expect(201, "POST", V1, v1("a")).await;
    for (events, _) in &mut watches {
        let first = tokio::time::timeout(TIMEOUT, events.frame()).await.unwrap().unwrap().unwrap();
        let first: Value = serde_json::from_slice(first.data_ref().unwrap()).unwrap();
        assert_eq!(first["object"]["spec"]["host"], "example.org");
    }
    // One, and one more for each second by which a watcher is behind.
    assert!(webhook.calls() <= calls + 5, "{} calls for 20 watchers", webhook.calls() - calls);
    server.stop().await;
}

/// A conversion is not a property of the object: a new release of the webhook may answer otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_webhook_is_asked_again() {
    let (server, mut client, webhook) = started().await;
    client.expect(201, "POST", V1, v1("a")).await;
    let a = format!("{V2}/a");
    assert!(client.get(&a).await["metadata"]["labels"].is_null());
    assert!(client.get(V2).await["items"][0]["metadata"]["labels"].is_null());
    webhook.set(Behavior::Label);
    client.until(&a, |read| read["metadata"]["labels"].is_object()).await;
    client.until(V2, |read| read["items"][0]["metadata"]["labels"].is_object()).await;
    webhook.set(Behavior::Convert);
    client.until(&a, |read| read["metadata"]["labels"].is_null()).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_hangs_does_not_hold_up_others() {
    let (server, mut client, webhook) = started().await;
    client.expect(201, "POST", V1, v1("a")).await;
    webhook.set(Behavior::Hang);
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let mut other = Client::connect(&server).await;
        waiting.spawn(async move { other.send("GET", &format!("{V2}/a"), &Value::Null).await });
    }
    client.until(V1, |_| webhook.calls() >= 64).await;
    assert_eq!(client.get(&format!("{V1}/a")).await["spec"]["hostPort"], "example.org:80");
    assert_eq!(client.send("GET", "/readyz", &Value::Null).await.status, 200);
    waiting.abort_all();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_called_by_their_names() {
    let webhook = Webhook::start().await;
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let service = json!({ "namespace": "default", "name": "converter", "path": "/convert", "port": webhook.address.port() });
    let config = json!({ "service": service, "caBundle": webhook.ca_bundle });
    client.define(definition(&config, &json!(["v1beta1", "v1"]))).await;
    client.expect(201, "POST", V1, v1("a")).await;
    let missing = client.expect(500, "GET", &format!("{V2}/a"), Value::Null).await;
    let url = format!("https://converter.default.svc:{}/convert?timeout=30s", webhook.address.port());
    let of = "conversion webhook for example.com/v1, Kind=Host failed:";
    assert_eq!(missing["message"], format!("{of} Post \"{url}\": service \"converter\" not found"));
    let service = json!({ "metadata": { "name": "converter" }, "spec": { "type": "ExternalName", "externalName": "localhost" } });
    client.expect(201, "POST", "/api/v1/namespaces/default/services", service).await;
    let read = client.get(&format!("{V2}/a")).await;
    assert_eq!(read["spec"]["host"], "example.org");
    assert_eq!(webhook.last()["apiVersion"], "apiextensions.k8s.io/v1beta1");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_bundle_is_used_at_once() {
    let (server, mut client, webhook) = started().await;
    client.expect(201, "POST", V1, v1("a")).await;
    let other = Webhook::start().await;
    let mut changed = client.get(DEFINITION).await;
    changed["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!(other.ca_bundle);
    client.expect(200, "PUT", DEFINITION, changed).await;
    let read = client.until(&format!("{V2}/a"), |found| found["code"] == 500).await;
    let message = read["message"].as_str().unwrap();
    assert!(message.contains("tls: failed to verify certificate: x509: "), "{message}");
    let mut changed = client.get(DEFINITION).await;
    changed["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!(webhook.ca_bundle);
    client.expect(200, "PUT", DEFINITION, changed).await;
    client.until(&format!("{V2}/a"), |found| found["spec"]["host"] == "example.org").await;
    server.stop().await;
}
