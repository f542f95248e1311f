//! The orderly end of a server: `--shutdown-send-retry-after` and `--shutdown-watch-termination-grace-period`.

use std::time::Duration;

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{self, Answer, Connection, Protocol};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MESSAGE: &str = "The apiserver is shutting down, please try again later.\n";

/// Sends a request over a new connection until it is refused.
async fn refused(server: &TestServer, protocol: Protocol) -> Answer {
    for _ in 0..2_000 {
        let answer = Connection::open(server, protocol).await.get("/version", None).await;
        if answer.status != 200 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("requests are still served");
}

async fn get_as(server: &TestServer, path: &str, agent: &str) -> u16 {
    let request = Request::get(path).header("host", "localhost").header("user-agent", agent);
    let mut connection = Connection::open(server, Protocol::Http1).await;
    connection.send(request.body(Full::default()).unwrap()).await.status
}

/// A request in flight is completed; meanwhile new ones are refused with the time to try again, except probes, metrics and
/// those of other servers.
#[tokio::test]
async fn while_requests_are_completed_others_are_refused_and_probes_answered() {
    let server = TestServer::builder().memory().flag("--shutdown-send-retry-after").start().await.unwrap();
    let address = server.address();
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}"#;
    let (begin, end) = body.split_at(20);
    let mut slow = client::tls(&server, "http/1.1").await;
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer admin-token\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{begin}",
        body.len()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.flush().await.unwrap();
    let mut old = Connection::open(&server, Protocol::Http2).await;
    // Answered after the slow request was received, most likely; without it, the server would be gone below.
    assert_eq!(old.get("/version", Some("admin-token")).await.status, 200);
    tokio::time::sleep(Duration::from_millis(100)).await;

    server.begin_shutdown();
    let answer = refused(&server, Protocol::Http1).await;
    assert_eq!((answer.status, answer.text().as_str()), (429, MESSAGE));
    for (header, value) in
        [("retry-after", "5"), ("connection", "close"), ("content-type", "text/plain; charset=utf-8")]
    {
        assert_eq!(answer.headers[header], value);
    }
    assert!(answer.headers.contains_key("audit-id"));
    for (path, status) in [("/livez", 200), ("/healthz", 200), ("/readyz", 500)] {
        let answered = get_as(&server, path, "probe").await;
        assert_eq!(answered, status, "{path}");
    }
    assert_eq!(get_as(&server, "/version", "kube-apiserver/v1.36.2").await, 200, "another server");
    assert_eq!(get_as(&server, "/version", "curl/8 kube-apiserver/").await, 429);

    // Over HTTP/2 the connection ends after the answer, instead of a header.
    let answer = old.get("/version", Some("admin-token")).await;
    assert_eq!((answer.status, answer.headers.get("connection")), (429, None));
    let request = || client::request("GET", "/version", &[client::ADMIN], &serde_json::Value::Null);
    let mut further = 0;
    while old.try_send(request()).await.is_some() {
        further += 1;
        assert!(further < 1_000, "the connection does not end");
    }

    slow.write_all(end.as_bytes()).await.unwrap();
    slow.flush().await.unwrap();
    let mut answer = vec![0; 4096];
    let length = slow.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    server.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

/// A watch has time to end, and the server waits for it, but not longer than the grace period.
#[tokio::test]
async fn watches_end_before_the_listener() {
    let server = TestServer::builder()
        .memory()
        .flag("--shutdown-send-retry-after=true")
        .flag("--shutdown-watch-termination-grace-period=10s")
        .start()
        .await
        .unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let token = server.admin_token();
    let watching = tokio::spawn(async move {
        let path = "/api/v1/namespaces?watch=1&resourceVersion=0";
        connection.get(path, Some(token)).await
    });
    let mut other = Connection::open(&server, Protocol::Http1).await;
    let running = "apiserver_longrunning_requests{component=\"apiserver\",group=\"\",resource=\"namespaces\"";
    for _ in 0..2_000 {
        let page = other.get("/metrics", Some(token)).await.text();
        if page.lines().any(|line| line.starts_with(running) && !line.ends_with(" 0")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
    let answer = watching.await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.text().contains("ADDED"), "the watch has ended properly, with its events");
}

/// With a minimum of one second, a watch without a timeout ends by itself.
#[tokio::test]
async fn the_shortest_duration_of_watches_is_configured() {
    let server = TestServer::builder().memory().flag("--min-request-timeout=1").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for query in ["watch=1", "watch=1&timeoutSeconds=0"] {
        let answer = connection.get(&format!("{MAPS}?{query}"), Some(server.admin_token())).await;
        assert_eq!(answer.status, 200, "{query}: it has ended, and the connection lives");
    }
    server.stop().await;
}
