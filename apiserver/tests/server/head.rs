//! HEAD has the answer of GET without its body, or is refused where kube-apiserver's router serves GET only.

use apiserver::testing::{ALICE_TOKEN, TestServer};
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol, request};

fn user_request(method: &str, path: &str, token: Option<&str>) -> Request<Full<Bytes>> {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let user = bearer.as_deref().map(|bearer| ("authorization", bearer));
    request(method, path, user.as_slice(), &Value::Null)
}

#[tokio::test]
async fn no_answer_to_head_has_a_body() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let admin = Some("admin-token");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        for (path, token, is_success) in [
            ("/version", admin, false),
            ("/readyz?verbose", admin, true),
            // Everybody may get it, and HEAD is another verb.
            ("/readyz?verbose", None, false),
            ("/openapi/v2", admin, true),
            ("/version", None, false),
            ("/api/v1/namespaces/default", None, false),
            ("/api/v1/namespaces/default", Some("unknown"), false),
            ("/api/v1/namespaces/default", Some(ALICE_TOKEN), false),
            ("/apis", admin, true),
            ("/zork", admin, false),
        ] {
            let answer = connection.send(user_request("HEAD", path, token)).await;
            let status = answer.status;
            assert_eq!(status < 400, is_success, "{protocol:?} {path}: {status}");
            assert!(answer.body.is_empty(), "{protocol:?} {path}");
            if path.contains("watch") {
                continue;
            }
            // The connection is still usable, and GET shows how long the body is.
            let whole = connection.send(user_request("GET", path, token)).await;
            if whole.status == status {
                let length = answer.headers.get("content-length").map(|length| length.to_str().unwrap());
                let known = whole.headers.get("content-length").map(|length| length.to_str().unwrap());
                assert_eq!(length, known, "{protocol:?} {path}");
            }
        }
    }
    server.stop().await;
}

/// kube-apiserver registers no route for HEAD with its built-in resources; handlers of custom resources and of proxied
/// connections do not ask for the method.
#[tokio::test]
async fn head_of_a_built_in_resource_is_not_allowed() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true,
                               "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.call("POST", definitions, &definition).await.unwrap();
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let started = std::time::Instant::now();
    while let Err(error) = server.call("POST", "/apis/example.com/v1/widgets", &widget).await {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let admin = Some("admin-token");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        for (path, status) in [
            ("/api/v1/namespaces/default", 405),
            ("/api/v1/namespaces/default/status", 405),
            ("/api/v1/namespaces/absent", 405),
            ("/api/v1/namespaces/default/configmaps?watch=true", 405),
            ("/apis/apps/v1/deployments", 405),
            ("/api/v1/zorks", 404),
            ("/api", 405),
            ("/api/v1", 405),
            ("/apis/apps/v1", 405),
            ("/version", 405),
            ("/apis/apps", 200),
            ("/apis/example.com/v1", 200),
            ("/apis/example.com/v1/widgets", 200),
            ("/apis/example.com/v1/widgets/w", 200),
            ("/apis/example.com/v1/widgets/absent", 404),
        ] {
            let answer = connection.send(user_request("HEAD", path, admin)).await;
            assert_eq!(answer.status, status, "{protocol:?} {path}");
            assert!(answer.body.is_empty(), "{protocol:?} {path}");
            let next = connection.send(user_request("GET", "/version", admin)).await;
            assert_eq!(next.status, 200, "the connection is not usable after HEAD {path} over {protocol:?}");
        }
        let posted = connection.send(user_request("POST", "/version", admin)).await;
        assert_eq!(posted.status, 405, "{}", posted.text());
        assert!(posted.text().contains("the server does not allow this method on the requested resource"));
    }
    server.stop().await;
}
