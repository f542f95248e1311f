//! HEAD has the answer of GET without its body, whatever the answer is.

use apiserver::testing::{ALICE_TOKEN, TestServer};
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;

use crate::client::{Connection, Protocol};

fn request(method: &str, path: &str, token: Option<&str>) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn no_answer_to_head_has_a_body() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let admin = Some("admin-token");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        for (path, token, is_success) in [
            ("/version", admin, true),
            ("/readyz?verbose", None, true),
            ("/openapi/v2", admin, true),
            ("/version", None, false),
            ("/api/v1/namespaces/default", None, false),
            ("/api/v1/namespaces/default", Some("unknown"), false),
            ("/api/v1/namespaces/default", Some(ALICE_TOKEN), false),
            ("/api/v1/namespaces/default", admin, true),
            ("/api/v1/namespaces/default/configmaps?watch=true", admin, true),
            ("/zork", admin, false),
        ] {
            let answer = connection.send(request("HEAD", path, token)).await;
            let status = answer.status;
            assert_eq!(status < 400, is_success, "{protocol:?} {path}: {status}");
            assert!(answer.body.is_empty(), "{protocol:?} {path}");
            if path.contains("watch") {
                continue;
            }
            // The connection is still usable, and GET shows how long the body is.
            let whole = connection.send(request("GET", path, token)).await;
            if whole.status == status {
                let length = answer.headers.get("content-length").map(|length| length.to_str().unwrap());
                let known = whole.headers.get("content-length").map(|length| length.to_str().unwrap());
                assert_eq!(length, known, "{protocol:?} {path}");
            }
        }
    }
    server.stop().await;
}
