//! The objects that the audit log keeps for lists that nobody reads.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use apiserver::testing::TestServer;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use super::ALLOCATOR;
use super::client::{Connection, Protocol, tls};
use super::world::{CONFIG_MAPS, request};

const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- {level: RequestResponse, verbs: [list]}\n- {level: None}\n";
/// Number of lists that nobody reads, of 6 MiB each.
const LISTS: usize = 60;
/// The limit of all recorded objects, and what an event in writing takes.
const MAX_BYTES: usize = (128 + 64) << 20;

async fn filled(directory: &Path) -> TestServer {
    let policy = directory.join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let server = TestServer::builder().memory().flag(format!("--audit-policy-file={}", policy.display()));
    let log = directory.join("audit.log");
    let server = server.flag(format!("--audit-log-path={}", log.display())).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for number in 0..6 {
        let object = json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "x".repeat(1 << 20)}});
        let body = object.to_string().into();
        assert_eq!(connection.send(request("POST", CONFIG_MAPS, "application/json", body)).await.status, 201);
    }
    server
}

/// Returns the audited lists with these ids, once there are all of them.
async fn events(log: &Path, ids: &HashSet<String>) -> Vec<Value> {
    for _ in 0..500 {
        let text = std::fs::read_to_string(log).unwrap();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        events.retain(|event| {
            event["stage"] == "ResponseComplete" && ids.contains(event["auditID"].as_str().unwrap())
        });
        if events.len() >= ids.len() {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("events are missing")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_lists_keep_bounded_memory_and_every_event() {
    let directory = tempfile::tempdir().unwrap();
    let server = filled(directory.path()).await;
    let before = ALLOCATOR.current_usage();
    let stream = TokioIo::new(tls(&server, "h2").await);
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1000);
    let (mut sender, connection) = builder.handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut unread = Vec::new();
    let mut ids = HashSet::new();
    for _ in 0..LISTS {
        let uri = format!("https://localhost{CONFIG_MAPS}");
        let list = Request::get(uri).header("authorization", "Bearer admin-token");
        sender.ready().await.unwrap();
        let answer = sender.send_request(list.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        ids.insert(answer.headers()["audit-id"].to_str().unwrap().to_owned());
        unread.push(answer);
    }
    let kept = ALLOCATOR.current_usage().saturating_sub(before);
    eprintln!("{} MiB for {LISTS} unread lists", kept >> 20);
    assert!(kept < MAX_BYTES, "{} MiB", kept >> 20);
    drop(unread);
    drop(sender);
    connection.abort();

    let events = events(&directory.path().join("audit.log"), &ids).await;
    let is_truncated = |event: &&Value| event["annotations"]["audit.k8s.io/truncated"] == "true";
    let (truncated, complete): (Vec<_>, Vec<_>) = events.iter().partition(is_truncated);
    assert_eq!((events.len(), ids.len()), (LISTS, LISTS), "no event is lost");
    assert!(truncated.iter().all(|event| event.get("responseObject").is_none()));
    assert!(complete.iter().all(|event| event["responseObject"]["items"].as_array().unwrap().len() == 6));
    assert!(truncated.len() > LISTS / 2 && complete.len() > 10, "{} are complete", complete.len());

    // What was reserved is free again.
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let list = connection.get(CONFIG_MAPS, Some("admin-token")).await;
    let id = HashSet::from([list.headers["audit-id"].to_str().unwrap().to_owned()]);
    let again = self::events(&directory.path().join("audit.log"), &id).await;
    assert!(again[0]["responseObject"].is_object() && again[0].get("annotations").is_some());
}
