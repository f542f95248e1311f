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
use serde_json::json;

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
    let server = server.flag(format!("--audit-log-path={}", log.display())).flag("--audit-log-maxsize=0");
    let server = server.start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for number in 0..6 {
        let object = json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "x".repeat(1 << 20)}});
        let body = object.to_string().into();
        assert_eq!(connection.send(request("POST", CONFIG_MAPS, "application/json", body)).await.status, 201);
    }
    server
}

/// An event of a list, of which only some parts are read: events are large.
struct Event {
    has_object: bool,
    is_truncated: bool,
}

/// Returns the last events of the requests with these ids, once there are all of them.
async fn events(log: &Path, ids: &HashSet<String>) -> Vec<Event> {
    for _ in 0..300 {
        let text = std::fs::read_to_string(log).unwrap();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with("}\n"));
        let wanted = |line: &&str| {
            let id = line.split_once(r#""auditID":""#).and_then(|(_, rest)| rest.split_once('"'));
            line.contains(r#""stage":"ResponseComplete""#) && id.is_some_and(|(id, _)| ids.contains(id))
        };
        let event = |line: &str| Event {
            has_object: line.contains(r#""responseObject":{"#),
            is_truncated: line.contains(r#""audit.k8s.io/truncated":"true""#),
        };
        let events: Vec<Event> = lines.filter(wanted).map(event).collect();
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
    assert!(kept < MAX_BYTES, "{} MiB", kept >> 20);
    drop(unread);
    drop(sender);
    connection.abort();

    let events = events(&directory.path().join("audit.log"), &ids).await;
    assert_eq!((events.len(), ids.len()), (LISTS, LISTS), "no event is lost");
    assert!(events.iter().all(|event| event.has_object != event.is_truncated));
    let complete = events.iter().filter(|event| event.has_object).count();
    assert!(complete > 10 && complete < LISTS / 2, "{complete} are complete");

    // What was reserved is free again.
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let list = connection.get(CONFIG_MAPS, Some("admin-token")).await;
    let id = HashSet::from([list.headers["audit-id"].to_str().unwrap().to_owned()]);
    let again = self::events(&directory.path().join("audit.log"), &id).await;
    assert!(again[0].has_object && !again[0].is_truncated);
}
