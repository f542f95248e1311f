//! A user who takes as many resources as possible must not affect other users.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use apiserver::authorization::{Attributes, Authorizer, Decision};
use apiserver::testing::TestServer;
use futures::StreamExt as _;
use http::Request;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::client::{self, Answer, Connection, Protocol};
use crate::metrics::Page;
use crate::overload::fill;

/// Allows everything, so that the tests depend on shares only.
struct AllowAll;

#[async_trait::async_trait]
impl Authorizer for AllowAll {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::Allow { reason: "".into() }
    }
}

type AnyBody = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// A connection of the hostile user.
struct Hostile {
    sender: SendRequest<AnyBody>,
    answers: Vec<tokio::task::JoinHandle<Option<http::Response<Incoming>>>>,
}

// === impl Hostile ===

impl Hostile {
    /// Connects with this receive window for each response.
    async fn connect(server: &TestServer, window_bytes: u32) -> Self {
        let stream = TokioIo::new(client::tls(server, "h2").await);
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window_bytes);
        let (sender, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Self { sender, answers: Vec::new() }
    }

    fn request(method: &str, path: &str) -> http::request::Builder {
        let uri = format!("https://localhost{path}");
        Request::builder().method(method).uri(uri).header("authorization", "Bearer hog-token")
    }

    /// Opens a stream, and reads only the head of its response.
    fn open(&mut self, request: Request<AnyBody>) {
        let answer = self.sender.send_request(request);
        self.answers.push(tokio::spawn(async move { answer.await.ok() }));
    }

    /// Sends a request with an incomplete body.
    fn post_forever(&mut self) {
        let beginning = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"{\"kind\":")))]);
        let body = BodyExt::boxed(StreamBody::new(beginning.chain(futures::stream::pending())));
        self.open(Self::request("POST", "/api/v1/namespaces/default/configmaps").body(body).unwrap());
    }

    fn get(&mut self, path: &str) {
        self.open(Self::request("GET", path).body(Full::default().boxed()).unwrap());
    }

    /// Waits until the server has received every earlier request: it handles frames in order.
    async fn arrived(&mut self) {
        self.sender.ready().await.unwrap();
        let request = Self::request("GET", "/version").body(Full::default().boxed()).unwrap();
        assert_eq!(self.sender.send_request(request).await.unwrap().status(), 200);
    }
}

async fn server() -> TestServer {
    let server = TestServer::builder().memory().authorizer(Arc::new(AllowAll));
    server.token("hog-token", "hog", "").start().await.unwrap()
}

/// Reads and writes as an ordinary user and as an administrator.
async fn everybody_else_works(server: &TestServer, name: &str) {
    for token in ["alice-token", server.admin_token()] {
        let mut connection = Connection::open(server, Protocol::Http2).await;
        let user = token.trim_end_matches("-token");
        let object = serde_json::json!({"metadata": {"name": format!("{name}-{user}")}});
        let mut request = client::post("/api/v1/namespaces/default/configmaps", object.to_string().into());
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        assert_status(&connection.send(request).await, 201, user);
        for path in ["/api/v1/namespaces/default/configmaps", "/api", "/api/v1/nodes?limit=5"] {
            assert_status(&connection.get(path, Some(token)).await, 200, user);
        }
    }
}

fn assert_status(answer: &Answer, status: u16, user: &str) {
    assert_eq!(answer.status, status, "{user}: {}", String::from_utf8_lossy(&answer.body));
}

#[tokio::test]
async fn bodies_that_never_come_hold_up_nobody_else() {
    let server = server().await;
    let mut hostile = Vec::new();
    for _ in 0..3 {
        let mut connection = Hostile::connect(&server, 65_535).await;
        for _ in 0..200 {
            connection.post_forever();
        }
        connection.arrived().await;
        hostile.push(connection);
    }
    let waiting = hostile.iter().flat_map(|connection| &connection.answers);
    assert!(waiting.filter(|answer| !answer.is_finished()).count() == 600, "all of them wait");
    everybody_else_works(&server, "bodies").await;
    // The hostile user's own next request does not wait for a place either.
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(connection.get("/api/v1/nodes", Some("hog-token")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_hold_up_nobody_else() {
    let server = server().await;
    // Larger than responses that count as sent at once.
    fill(&server, 10, 20_000).await;
    let mut hostile = Vec::new();
    for _ in 0..3 {
        let mut connection = Hostile::connect(&server, 0).await;
        for _ in 0..200 {
            connection.get("/api/v1/namespaces/default/configmaps");
        }
        hostile.push(connection);
    }
    let begun = std::time::Instant::now();
    loop {
        let page = Page::scrape(&server).await;
        let reads = page.sum("apiserver_current_inflight_requests", &[r#"request_kind="readOnly""#]);
        // The scrape itself is an administrator's request, which has a place of its own.
        if reads - 1.0 >= 200.0 {
            assert!(reads - 1.0 <= 600.0, "half of 1200 is the most that one user gets: {reads}");
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{reads}");
    }
    everybody_else_works(&server, "answers").await;
}
