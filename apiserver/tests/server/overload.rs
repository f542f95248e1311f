//! Too much at once: what is refused, what a stalled client costs.

use std::time::Duration;

use apiserver::testing::TestServer;
use tokio::io::AsyncWriteExt as _;

use crate::client::{self, Connection, Protocol};
use crate::metrics::{Page, create};

/// A client that asks over a connection of its own, and never reads a byte of the answer.
async fn stalled(server: &TestServer, path: &str) -> impl Sized + use<> {
    let mut stream = client::tls(server, "http/1.1").await;
    let token = server.admin_token();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

pub async fn fill(server: &TestServer, objects: usize, bytes: usize) {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    let text = "x".repeat(bytes);
    for number in 0..objects {
        let answer = create(&mut connection, &format!("big-{number:04}"), &text, "").await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

/// Waits until a number on the page is what it should be.
async fn until(server: &TestServer, what: &str, is_so: impl Fn(&Page) -> bool) -> Page {
    for _ in 0..300 {
        let page = Page::scrape(server).await;
        if is_so(&page) {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

fn reads_in_flight(page: &Page) -> f64 {
    // The one that asks is one.
    page.sum("apiserver_current_inflight_requests", &[r#"request_kind="readOnly""#]) - 1.0
}

#[tokio::test]
async fn over_the_byte_budget_lists_and_watches_are_told_when_to_come_back() {
    let server = TestServer::builder().memory().flag("--watch-cache-memory=2").start().await.unwrap();
    let admin = Some(server.admin_token());
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    fill(&server, 5, 500_000).await;
    let over = |page: &Page| {
        page.sum("orlop_watch_cache_used_bytes", &[]) > page.sum("orlop_watch_cache_limit_bytes", &[])
    };
    until(&server, "over the budget", over).await;
    for path in ["/api/v1/configmaps", "/api/v1/configmaps?watch=1", "/api/v1/configmaps?resourceVersion=0"] {
        let answer = connection.get(path, admin).await;
        assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (429, "1"), "{path}");
        let status = answer.json();
        assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &"TooManyRequests".into()));
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
    }
    let one = "/api/v1/namespaces/default/configmaps/big-0000";
    assert_eq!(connection.get(one, admin).await.status, 200, "one object is no burden");
    for number in 0..3 {
        let path = format!("/api/v1/namespaces/default/configmaps/big-{number:04}");
        let mut request = client::post(&path, Vec::new());
        *request.method_mut() = http::Method::DELETE;
        assert_eq!(connection.send(request).await.status, 200, "deletions are the way out");
    }
    // What was deleted is history now, and goes first.
    assert_eq!(connection.get("/api/v1/configmaps", admin).await.status, 200);
    let page = until(&server, "room again", |page| !over(page)).await;
    assert!(page.sum("orlop_watch_cache_refusals_total", &[]) >= 3.0);
}

#[tokio::test]
async fn clients_that_stop_reading_cost_little_and_not_forever() {
    const CLIENTS: usize = 24;
    let server = TestServer::builder().memory().flag("--request-timeout=4s").start().await.unwrap();
    // Of two sorts: large objects are sent as they are, small ones are copied together.
    fill(&server, 20, 500_000).await;
    fill_small(&server).await;
    let before = Page::scrape(&server).await.sum("process_resident_memory_bytes", &[]);
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(stalled(&server, "/api/v1/configmaps").await);
    }
    let during =
        until(&server, "all lists are under way", |page| reads_in_flight(page) >= CLIENTS as f64).await;
    for _ in 0..CLIENTS {
        clients.push(stalled(&server, "/api/v1/configmaps?watch=1").await);
    }
    let watches = |page: &Page| page.sum("apiserver_longrunning_requests", &[r#"resource="configmaps""#]);
    let during = during.sum("process_resident_memory_bytes", &[]).max(
        until(&server, "all watches are under way", |page| watches(page) >= CLIENTS as f64)
            .await
            .sum("process_resident_memory_bytes", &[]),
    );
    // 48 answers of 12 MB; the bound is coarse, because other tests share the process's allocator and its clients.
    let growth = during - before;
    println!("{CLIENTS} stalled lists and {CLIENTS} stalled watches: +{} MB", growth / 1e6);
    assert!(growth < 100e6, "{} MB", growth / 1e6);
    // The lists are given up when their time is over, although nobody reads on.
    until(&server, "the lists are given up", |page| reads_in_flight(page) == 0.0).await;
    drop(clients);
    until(&server, "the watches ended with their clients", |page| watches(page) == 0.0).await;
    server.stop().await;
}

async fn fill_small(server: &TestServer) {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    let text = "x".repeat(10_000);
    for number in 0..200 {
        assert_eq!(create(&mut connection, &format!("small-{number:04}"), &text, "").await.status, 201);
    }
}

#[tokio::test]
async fn a_connection_has_room_for_as_many_watches_as_kube_apiserver_grants() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let Connection::Http2(sender) = Connection::open(&server, Protocol::Http2).await else { unreachable!() };
    let watches = (0..400).map(|_| {
        let mut sender = sender.clone();
        async move {
            let request = http::Request::get("https://localhost/api/v1/configmaps?watch=1");
            let request = request.header("authorization", "Bearer admin-token");
            sender.send_request(request.body(http_body_util::Full::default()).unwrap()).await.unwrap()
        }
    });
    let watches = tokio::time::timeout(Duration::from_secs(60), futures::future::join_all(watches));
    assert!(watches.await.expect("every watch begins").iter().all(|watch| watch.status() == 200));
}
