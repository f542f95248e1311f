//! Headers for browsers, and clients that are asked to connect again.

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::Value;

use super::client::{ADMIN, Answer, Connection, Protocol, request};

async fn send(connection: &mut Connection, method: &str, path: &str, origin: &str) -> Answer {
    let request =
        Request::builder().method(method).uri(path).header("host", "localhost").header("origin", origin);
    connection.send(request.body(Full::<Bytes>::default()).unwrap()).await
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call_the_server() {
    let server = TestServer::builder()
        .memory()
        .flag(r"--cors-allowed-origins=//example\.com(:|$),^https://[a-z]+\.example\.org$")
        .flag("--strict-transport-security-directives=max-age=31536000,includeSubDomains")
        .start()
        .await
        .unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        for origin in ["https://example.com", "https://example.com:8443", "https://a.example.org"] {
            let answer = send(&mut connection, "GET", "/version", origin).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.headers["access-control-allow-origin"], origin);
            assert_eq!(answer.headers["access-control-allow-credentials"], "true");
            assert_eq!(answer.headers["strict-transport-security"], "max-age=31536000; includeSubDomains");
            let preflight = send(&mut connection, "OPTIONS", "/api/v1/pods", origin).await;
            assert_eq!(
                (preflight.status, preflight.body.len()),
                (204, 0),
                "asked before there are credentials"
            );
            assert!(
                preflight.headers["access-control-allow-headers"].to_str().unwrap().contains("Authorization")
            );
            // Refusals have the headers too: the page has to read them.
            let refused = send(&mut connection, "GET", "/api/v1/pods", origin).await;
            assert_eq!(
                (refused.status, &refused.headers["access-control-allow-origin"]),
                (403, &origin.parse().unwrap())
            );
        }
        for origin in
            ["https://example.com.attacker.net", "https://attacker.net", "null", "https://A.example.org"]
        {
            let answer = send(&mut connection, "GET", "/version", origin).await;
            assert!(!answer.headers.contains_key("access-control-allow-origin"), "{origin}");
            assert_ne!(send(&mut connection, "OPTIONS", "/api/v1/pods", origin).await.status, 204);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_page_may_by_default() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let answer = send(&mut connection, "GET", "/version", "https://example.com").await;
    for name in ["access-control-allow-origin", "strict-transport-security"] {
        assert!(!answer.headers.contains_key(name), "{name}");
    }
    for (flag, reason) in [
        ("--cors-allowed-origins=example.com", "does not pin"),
        ("--cors-allowed-origins=//(:", "regex"),
        ("--strict-transport-security-directives=max-age", "allowed values"),
        ("--goaway-chance=0.5", "greater than 0.02"),
        ("--goaway-chance=NaN", "greater than 0.02"),
    ] {
        let refused = TestServer::builder().memory().flag(flag).start().await.err().unwrap();
        assert!(refused.to_string().contains(reason), "{flag}: {refused}");
    }
    server.stop().await;
}

#[tokio::test]
async fn clients_are_asked_to_connect_again_now_and_then() {
    let server = TestServer::builder().memory().flag("--goaway-chance=0.02").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let mut answered = 0;
    loop {
        match connection.try_send(request("GET", "/livez", &[ADMIN], &Value::Null)).await {
            Some(answer) => assert_eq!(answer.status, 200, "no request fails for it"),
            None => break,
        }
        answered += 1;
        assert!(answered < 5_000, "the connection lives for ever");
    }
    assert!(answered > 0);
    let mut again = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(again.get("/livez", None).await.status, 200);
    server.stop().await;
}
