//! Overload: refused requests, and the cost of a stalled client.

use std::time::Duration;

use apiserver::testing::TestServer;
use tokio::io::AsyncWriteExt as _;

use crate::client::{self, Connection, Protocol};
use crate::metrics::{Page, create};

/// Sends a request over a connection of its own, and never reads a byte of the response.
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

/// Waits until the metrics meet a condition.
async fn until(server: &TestServer, state: &str, is_so: impl Fn(&Page) -> bool) -> Page {
    for _ in 0..300 {
        let page = Page::scrape(server).await;
        if is_so(&page) {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {state}");
}

fn reads_in_flight(page: &Page) -> f64 {
    // The scrape itself counts as one.
    page.sum("apiserver_current_inflight_requests", &[r#"request_kind="readOnly""#]) - 1.0
}

fn configmaps(query: &str, accept: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = client::post(&format!("/api/v1/namespaces/default/configmaps{query}"), Vec::new());
    *request.method_mut() = http::Method::GET;
    request.headers_mut().insert(http::header::ACCEPT, accept.parse().unwrap());
    request
}

#[tokio::test]
async fn over_the_byte_budget_reads_of_the_largest_resource_go_to_the_store() {
    const OBJECTS: usize = 8;
    let server = TestServer::builder().memory().flag("--watch-cache-memory=2").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let reference = |number: usize| format!("big-{number:04}");
    let before = connection.send(configmaps("", "application/json")).await.json();
    let others = before["items"].as_array().unwrap().len();
    fill(&server, OBJECTS, 500_000).await;
    let label = [r#"resource="configmaps""#];
    let page = until(&server, "config maps are not cached", |page| {
        page.sum("orlop_watch_cache_holds_objects", &label) == 0.0
    })
    .await;
    assert_eq!(page.sum("orlop_watch_cache_evictions_total", &[]), 1.0);
    assert_eq!(page.sum("orlop_watch_cache_object_bytes", &label), 0.0);
    assert_eq!(page.sum("orlop_watch_cache_holds_objects", &[r#"resource="secrets""#]), 1.0);

    // A list larger than one piece, in every form. Objects are complete and in order.
    let json = connection.send(configmaps("", "application/json")).await;
    let names = |items: &serde_json::Value| -> Vec<String> {
        let name = |item: &serde_json::Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        items.as_array().unwrap().iter().map(name).collect()
    };
    let json = json.json();
    let all = names(&json["items"]);
    assert_eq!(all.len(), OBJECTS + others);
    assert!(all.is_sorted() && all.contains(&reference(0)) && all.contains(&reference(OBJECTS - 1)));
    assert!(json["metadata"].get("continue").is_none(), "{}", json["metadata"]);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let rows = connection.send(configmaps("", table)).await.json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), all.len());
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    assert_eq!(names(&connection.send(configmaps("", metadata)).await.json()["items"]), all);
    for (accept, least) in [
        ("application/vnd.kubernetes.protobuf", OBJECTS * 500_000),
        ("application/yaml", OBJECTS * 500_000),
        ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", OBJECTS * 10),
    ] {
        let answer = connection.send(configmaps("", accept)).await;
        assert_eq!(answer.status, 200, "{accept}");
        let count = answer.body.windows(4).filter(|part| part == b"big-").count();
        assert!(answer.body.len() > least && count >= OBJECTS, "{accept}: {} bytes", answer.body.len());
    }
    for query in ["?resourceVersion=0", "?limit=5", "?labelSelector=a!%3Db"] {
        let listed = connection.send(configmaps(query, "application/json")).await;
        let wanted = if query == "?limit=5" { 5 } else { all.len() };
        assert_eq!(names(&listed.json()["items"]).len(), wanted, "{query}");
    }
    let initial = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
                   &timeoutSeconds=1";
    let events = connection.send(configmaps(initial, "application/json")).await;
    assert_eq!(events.text().matches(r#"{"type":"ADDED""#).count(), all.len());

    let mut delete = configmaps("", "application/json");
    *delete.method_mut() = http::Method::DELETE;
    let deleted = connection.send(delete).await;
    assert_eq!((deleted.status, names(&deleted.json()["items"])), (200, all));
    until(&server, "what is left is cached", |page| {
        page.sum("orlop_watch_cache_holds_objects", &label) == 1.0
    })
    .await;
    let left = connection.send(configmaps("", "application/json")).await.json();
    assert!(left["items"].as_array().unwrap().len() <= others);
    server.stop().await;
}

#[tokio::test]
async fn clients_that_stop_reading_cost_little_and_not_forever() {
    const CLIENTS: usize = 24;
    let server = TestServer::builder().memory().flag("--request-timeout=4s").start().await.unwrap();
    // Of two sizes: large objects are sent without a copy, small ones are copied together.
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
    // 48 responses of 12 MB; the bound is coarse, because other tests share the process's allocator and its
    // clients.
    let growth = during - before;
    println!("{CLIENTS} stalled lists and {CLIENTS} stalled watches: +{} MB", growth / 1e6);
    assert!(growth < 100e6, "{} MB", growth / 1e6);
    // The lists are dropped at their deadline, although their clients do not read.
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
    let connection = Connection::open(&server, Protocol::Http2).await;
    let Connection::Http2 { sender, .. } = connection else { unreachable!() };
    let watches = (0..400).map(|_| {
        let mut sender = sender.clone();
        async move {
            let request = http::Request::get("https://localhost/api/v1/configmaps?watch=1");
            let request = request.header("authorization", "Bearer admin-token");
            sender.send_request(request.body(http_body_util::Full::default()).unwrap()).await.unwrap()
        }
    });
    let watches = tokio::time::timeout(Duration::from_mins(1), futures::future::join_all(watches));
    assert!(watches.await.expect("every watch begins").iter().all(|watch| watch.status() == 200));
}
