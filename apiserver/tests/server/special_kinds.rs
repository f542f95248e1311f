//! Requests that single kinds answer in their own way.

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::client::{Answer, Connection, Protocol};

async fn send(
    connection: &mut Connection,
    method: &str,
    path: &str,
    media_type: &str,
    body: Value,
) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer admin-token")
        .header("content-type", media_type);
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    connection.send(request.body(Full::new(body)).unwrap()).await
}

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
        assert_eq!(send(&mut admin, "GET", collection, "", Value::Null).await.status, 405, "{collection}");
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let named = send(&mut admin, method, &format!("{collection}/a"), "", Value::Null).await;
            assert_eq!(named.status, 404, "{method} {collection}/a");
            assert_eq!(named.json()["message"], "the server could not find the requested resource");
        }
    }
    let eviction = "/api/v1/namespaces/default/pods/a/eviction";
    assert_eq!(send(&mut admin, "GET", eviction, "", Value::Null).await.status, 405, "it has a name");
    server.stop().await;
}

#[tokio::test]
async fn a_status_does_not_begin_the_deletion_of_a_pod() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let account = json!({ "metadata": { "name": "default" } });
    let json_type = "application/json";
    send(&mut admin, "POST", "/api/v1/namespaces/default/serviceaccounts", json_type, account).await;
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "x" }] },
    });
    let pods = "/api/v1/namespaces/default/pods";
    assert_eq!(send(&mut admin, "POST", pods, json_type, pod).await.status, 201);
    let status = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "p", "deletionTimestamp": "2020-01-01T00:00:00Z", "ownerReferences": [] },
        "status": { "message": "hello" },
    });
    let path = format!("{pods}/p/status?fieldManager=m");
    let applied = send(&mut admin, "PATCH", &path, "application/apply-patch+yaml", status).await;
    assert_eq!(applied.status, 200, "{}", applied.text());
    let pod = applied.json();
    assert_eq!(
        (&pod["status"]["message"], pod["metadata"].get("deletionTimestamp")),
        (&json!("hello"), None)
    );
    server.stop().await;
}
