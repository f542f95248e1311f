//! Requests that single kinds answer in their own way.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::client::{ADMIN, Connection, Protocol, request};

const APPLY: (&str, &str) = ("content-type", "application/apply-patch+yaml");

#[tokio::test]
async fn kinds_that_are_only_created_have_no_paths_with_names() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    for collection in [
        "/api/v1/namespaces/default/bindings",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
        "/apis/authentication.k8s.io/v1/tokenreviews",
    ] {
        assert_eq!(admin.call("GET", collection, &Value::Null).await.status, 405, "{collection}");
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let named = admin.call(method, &format!("{collection}/a"), &Value::Null).await;
            assert_eq!(named.status, 404, "{method} {collection}/a");
            assert_eq!(named.json()["message"], "the server could not find the requested resource");
        }
    }
    let eviction = "/api/v1/namespaces/default/pods/a/eviction";
    assert_eq!(admin.call("GET", eviction, &Value::Null).await.status, 405, "it has a name");
    server.stop().await;
}

#[tokio::test]
async fn a_status_does_not_begin_the_deletion_of_a_pod() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let account = json!({ "metadata": { "name": "default" } });
    admin.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "x" }] },
    });
    let pods = "/api/v1/namespaces/default/pods";
    assert_eq!(admin.call("POST", pods, &pod).await.status, 201);
    let status = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "p", "deletionTimestamp": "2020-01-01T00:00:00Z", "ownerReferences": [] },
        "status": { "message": "hello" },
    });
    let path = format!("{pods}/p/status?fieldManager=m");
    let applied = admin.send(request("PATCH", &path, &[ADMIN, APPLY], &status)).await;
    assert_eq!(applied.status, 200, "{}", applied.text());
    let pod = applied.json();
    assert_eq!(
        (&pod["status"]["message"], pod["metadata"].get("deletionTimestamp")),
        (&json!("hello"), None)
    );
    server.stop().await;
}

#[tokio::test]
async fn a_service_takes_its_endpoints_with_it() {
    const SERVICES: &str = "/api/v1/namespaces/default/services";
    const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let held = |finalizers: Value| json!({ "metadata": { "finalizers": finalizers } });
    for name in ["single", "waiting", "listed", "other", "without"] {
        let metadata = json!({ "name": name, "labels": { "name": name } });
        let service = json!({ "metadata": metadata, "spec": { "ports": [{ "port": 80 }] } });
        assert_eq!(admin.call("POST", SERVICES, &service).await.status, 201, "{name}");
        if name != "without" {
            let endpoints = json!({ "metadata": metadata });
            assert_eq!(admin.call("POST", ENDPOINTS, &endpoints).await.status, 201, "{name}");
        }
    }
    let waiting = format!("{SERVICES}/waiting");
    admin.call("PATCH", &waiting, &held(json!(["example.com/held"]))).await;
    let none = Value::Null;
    let steps = [
        ("DELETE", format!("{SERVICES}/single?dryRun=All"), &none, "single", 200, "a dry run"),
        ("DELETE", format!("{SERVICES}/single"), &none, "single", 404, "the deletion"),
        ("DELETE", waiting.clone(), &none, "waiting", 200, "a deletion that waits for a finalizer"),
        (
            "PATCH",
            format!("{waiting}/status"),
            &held(json!([])),
            "waiting",
            404,
            "the last finalizer's removal",
        ),
        ("DELETE", format!("{SERVICES}?labelSelector=name=listed"), &none, "listed", 404, "a collection"),
        ("DELETE", format!("{SERVICES}/without"), &none, "other", 200, "a service that has none"),
    ];
    for (method, path, body, name, expected, why) in steps {
        let answer = admin.call(method, &path, body).await;
        assert_eq!(answer.status, 200, "{why}: {}", answer.text());
        let endpoints = admin.call("GET", &format!("{ENDPOINTS}/{name}"), &Value::Null).await;
        assert_eq!(endpoints.status, expected, "after {why}: {}", endpoints.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn priority_classes_of_the_system_are_deleted_only_in_a_collection_as_in_kube_apiserver() {
    const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    for (name, value) in [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
    {
        // The server may have created it.
        let class = json!({ "metadata": { "name": name }, "value": value });
        let created = admin.call("POST", CLASSES, &class).await;
        assert!([201, 409].contains(&created.status), "{}", created.text());
        for query in ["", "?dryRun=All"] {
            let refused = admin.call("DELETE", &format!("{CLASSES}/{name}{query}"), &Value::Null).await;
            let message = format!(
                "priorityclasses.scheduling.k8s.io \"{name}\" is forbidden: this is a system priority class and cannot be deleted"
            );
            assert_eq!((refused.status, refused.json()["message"].as_str()), (403, Some(&*message)));
        }
    }
    let class = json!({ "metadata": { "name": "own" }, "value": 1 });
    assert_eq!(admin.call("POST", CLASSES, &class).await.status, 201);
    assert_eq!(admin.call("DELETE", &format!("{CLASSES}/own"), &Value::Null).await.status, 200);
    let absent = admin.call("DELETE", &format!("{CLASSES}/own"), &Value::Null).await;
    assert_eq!(absent.status, 404);
    let selected = format!("{CLASSES}?fieldSelector=metadata.name=system-node-critical");
    let deleted = admin.call("DELETE", &selected, &Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let gone = admin.call("GET", &format!("{CLASSES}/system-node-critical"), &Value::Null).await;
    assert_eq!(gone.status, 404, "{}", gone.text());
    server.stop().await;
}
