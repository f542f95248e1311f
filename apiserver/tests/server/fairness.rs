//! API Priority and Fairness: tenants that share a server.

use std::time::Duration;

use apiserver::testing::TestServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{self, Answer, Connection, Protocol};
use crate::metrics::Page;
use crate::overload::fill;

const FLOWS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const DUMPS: &str = "/debug/api_priority_and_fairness";
const SMALL: &str = "/api/v1/namespaces/default/configmaps/big-0000";

/// Starts a server with few seats, at which everybody may do everything.
async fn server(reads: usize, is_fair: bool) -> TestServer {
    let builder = TestServer::builder()
        .memory()
        .flag("--authorization-mode=AlwaysAllow")
        .flag(format!("--enable-priority-and-fairness={is_fair}"))
        .flag(format!("--max-requests-inflight={reads}"))
        .flag("--max-mutating-requests-inflight=4")
        .token("flood-token", "flood", "tenants")
        .token("quiet-token", "quiet", "tenants");
    builder.start().await.unwrap()
}

async fn send(server: &TestServer, method: &str, path: &str, body: &Value) -> Answer {
    Connection::open(server, Protocol::Http2).await.call(method, path, body).await
}

async fn read(server: &TestServer, path: &str) -> Answer {
    Connection::open(server, Protocol::Http2).await.get(path, Some(server.admin_token())).await
}

/// Returns the specification of a level with one seat.
fn level(response: &Value) -> Value {
    json!({
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 1, "borrowingLimitPercent": 0, "limitResponse": response},
    })
}

/// Gives the tenants a level of their own, and returns the uids of schema and level.
async fn create_tenants(server: &TestServer, spec: &Value) -> [String; 2] {
    let object = json!({"metadata": {"name": "tenants"}, "spec": spec});
    let path = format!("{FLOWS}/prioritylevelconfigurations");
    let level = send(server, "POST", &path, &object).await;
    assert_eq!(level.status, 201, "{}", level.text());
    let schema = create_schema(server).await;
    [schema, level.json()].map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned())
}

async fn create_schema(server: &TestServer) -> Value {
    let rules = json!([{
        "subjects": [{"kind": "Group", "group": {"name": "tenants"}}],
        "resourceRules": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]},
        ],
    }]);
    let schema = json!({
        "metadata": {"name": "tenants"},
        "spec": {
            "priorityLevelConfiguration": {"name": "tenants"},
            "matchingPrecedence": 50,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": rules,
        },
    });
    let created = send(server, "POST", &format!("{FLOWS}/flowschemas"), &schema).await;
    assert_eq!(created.status, 201, "{}", created.text());
    created.json()
}

/// Waits until a page shows what it should.
async fn until(server: &TestServer, path: &str, state: &str, is_so: impl Fn(&str) -> bool) -> String {
    let mut shown = String::new();
    for _ in 0..300 {
        shown = read(server, path).await.text();
        if is_so(&shown) {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {state}\n{shown}");
}

/// Waits until requests of the tenants belong to their level.
async fn until_in_force(server: &TestServer, uids: &[String; 2]) {
    for _ in 0..300 {
        let mut connection = Connection::open(server, Protocol::Http2).await;
        let answer = connection.get("/api/v1/namespaces/default", Some("quiet-token")).await;
        let is = |name: &str, uid: &String| {
            answer.headers.get(name).is_some_and(|own| own.as_bytes() == uid.as_bytes())
        };
        if is("x-kubernetes-pf-flowschema-uid", &uids[0]) && is("x-kubernetes-pf-prioritylevel-uid", &uids[1])
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the schema is not in force");
}

/// The beginning of a successful response.
const STATUS_LINE: &[u8] = b"HTTP/1.1 200";

/// A client that reads a large list slowly, so that the list keeps its seats. Dropping it closes the connection.
struct Held(tokio::task::JoinHandle<()>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns a client whose list has begun. A list that is refused is requested again.
async fn hold_seats(server: &TestServer, token: &str) -> Held {
    let request = format!(
        "GET /api/v1/configmaps HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut buffer = vec![0; 32 * 1024];
    for _ in 0..300 {
        let mut stream = client::tls(server, "http/1.1").await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream.read_exact(&mut buffer[..STATUS_LINE.len()]).await.unwrap();
        if &buffer[..STATUS_LINE.len()] == STATUS_LINE {
            return Held(tokio::spawn(async move {
                while stream.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }));
        }
        // An earlier request still had the seat.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the list is always refused");
}

fn row<'a>(page: &'a str, level: &str) -> Vec<&'a str> {
    let line = page.lines().find(|line| line.starts_with(&format!("{level},"))).unwrap_or_default();
    line.split(',').map(str::trim).collect()
}

#[tokio::test]
async fn a_refused_request_gets_kubernetes_answer_and_an_administrator_is_served() {
    let server = server(8, true).await;
    fill(&server, 24, 500_000).await;
    let uids = create_tenants(&server, &level(&json!({"type": "Reject"}))).await;
    until_in_force(&server, &uids).await;
    let levels = format!("{DUMPS}/dump_priority_levels");
    let held = hold_seats(&server, "flood-token").await;
    until(&server, &levels, "the list executes", |page| row(page, "tenants").get(5) == Some(&"1")).await;

    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let refused = connection.get(SMALL, Some("flood-token")).await;
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (429, "Too many requests, please try again later.\n")
    );
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(refused.headers["x-content-type-options"], "nosniff");
    assert_eq!(refused.headers["x-kubernetes-pf-flowschema-uid"], uids[0]);
    assert_eq!(refused.headers["x-kubernetes-pf-prioritylevel-uid"], uids[1]);
    assert_eq!(connection.get(SMALL, Some(server.admin_token())).await.status, 200);

    let page = read(&server, &levels).await.text();
    let header = page.lines().next().unwrap();
    assert!(
        header.starts_with("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests,"),
        "{page}"
    );
    let columns = row(&page, "tenants");
    assert_eq!((columns[2], columns[3], columns[4], columns[5]), ("false", "false", "0", "1"), "{page}");
    assert_eq!(columns[7], "1", "one was rejected: {page}");
    for name in
        ["catch-all", "exempt", "global-default", "leader-election", "node-high", "system", "workload-high"]
    {
        assert!(!row(&page, name)[0].is_empty(), "{name}: {page}");
    }
    let requests = read(&server, &format!("{DUMPS}/dump_requests?includeRequestDetails=1")).await.text();
    let columns = row(&requests, "tenants");
    assert_eq!(columns[1..5], ["tenants", "-1", "-1", ""], "{requests}");
    assert_eq!(columns[10..13], ["flood", "list", "/api/v1/configmaps"], "{requests}");
    assert_eq!(columns[13..], ["", "", "v1", "configmaps", ""], "{requests}");

    let metrics = Page::scrape(&server).await;
    let own = [r#"priority_level="tenants""#, r#"flow_schema="tenants""#];
    let sum = |name: &str, more: &[&str]| {
        metrics.sum(&format!("apiserver_flowcontrol_{name}"), &[&own[..], more].concat())
    };
    assert_eq!(sum("rejected_requests_total", &[r#"reason="concurrency-limit""#]), 1.0);
    assert_eq!(sum("current_executing_requests", &[]), 1.0);
    assert!(sum("dispatched_requests_total", &[]) >= 2.0);
    assert!(sum("request_wait_duration_seconds_count", &[r#"execute="true""#]) >= 2.0);
    assert_eq!(metrics.sum("apiserver_flowcontrol_nominal_limit_seats", &[own[0]]), 1.0);
    assert_eq!(metrics.sum("apiserver_flowcontrol_upper_limit_seats", &[own[0]]), 1.0);
    assert!(
        metrics.sum("apiserver_flowcontrol_demand_seats_count", &[own[0]]) > 1e6,
        "it counts nanoseconds"
    );

    // Who goes away gives its seats back.
    drop(held);
    until(&server, &levels, "the level is idle", |page| row(page, "tenants").get(2) == Some(&"true")).await;
    assert_eq!(connection.get(SMALL, Some("flood-token")).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_changed_level_takes_effect_and_requests_wait_for_seats() {
    let server = server(8, true).await;
    fill(&server, 24, 500_000).await;
    let uids = create_tenants(&server, &level(&json!({"type": "Reject"}))).await;
    until_in_force(&server, &uids).await;
    let queuing = json!({"queues": 4, "handSize": 1, "queueLengthLimit": 3});
    let spec = json!({"spec": level(&json!({"type": "Queue", "queuing": queuing}))});
    let path = format!("{FLOWS}/prioritylevelconfigurations/tenants");
    let changed = send(&server, "PATCH", &path, &spec).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let queues = format!("{DUMPS}/dump_queues");
    let queues_of = |page: &str| page.lines().filter(|line| line.starts_with("tenants,")).count();
    until(&server, &queues, "there are queues", |page| queues_of(page) == 4).await;

    let levels = format!("{DUMPS}/dump_priority_levels");
    let held = hold_seats(&server, "flood-token").await;
    until(&server, &levels, "the list executes", |page| row(page, "tenants").get(5) == Some(&"1")).await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        waiting.push(tokio::spawn(async move { connection.get(SMALL, Some("flood-token")).await }));
    }
    let page = until(&server, &levels, "three wait", |page| row(page, "tenants").get(4) == Some(&"3")).await;
    assert_eq!(row(&page, "tenants")[1], "1", "all in one queue: {page}");
    let requests = read(&server, &format!("{DUMPS}/dump_requests")).await.text();
    let of_tenants: Vec<_> = requests.lines().filter(|line| line.starts_with("tenants,")).collect();
    assert_eq!(of_tenants.len(), 4, "{requests}");
    assert!(of_tenants[0].contains("flood,") && of_tenants[0].contains("0001-01-01T00:00:00Z"), "{requests}");

    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let refused = connection.get(SMALL, Some("flood-token")).await;
    assert_eq!(refused.status, 429, "the queue is full");
    // One that gives up leaves the queue.
    waiting.pop().unwrap().abort();
    until(&server, &levels, "two wait", |page| row(page, "tenants").get(4) == Some(&"2")).await;
    drop(held);
    for request in waiting {
        assert_eq!(request.await.unwrap().status, 200);
    }
    let page =
        until(&server, &levels, "it is idle", |page| row(page, "tenants").get(2) == Some(&"true")).await;
    assert_eq!(row(&page, "tenants")[7..], ["2", "0", "1"], "{page}");
    server.stop().await;
}

#[tokio::test]
async fn a_quiet_tenant_is_served_beside_a_flooding_one() {
    let server = server(8, true).await;
    fill(&server, 4, 1_000).await;
    let queuing = json!({"queues": 64, "handSize": 4, "queueLengthLimit": 8});
    let uids = create_tenants(&server, &level(&json!({"type": "Queue", "queuing": queuing}))).await;
    until_in_force(&server, &uids).await;
    let mut flood = Vec::new();
    for _ in 0..4 {
        let mut connection = Connection::open(&server, Protocol::Http1).await;
        flood.push(tokio::spawn(async move {
            loop {
                let answer = connection.get("/api/v1/configmaps", Some("flood-token")).await;
                assert!(answer.status == 200 || answer.status == 429, "{}", answer.status);
            }
        }));
    }
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for _ in 0..100 {
        assert_eq!(connection.get(SMALL, Some("quiet-token")).await.status, 200);
        assert_eq!(connection.get(SMALL, Some(server.admin_token())).await.status, 200);
    }
    for request in flood {
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled(), "the flood failed by itself");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_schema_without_its_level_is_dangling_and_not_used() {
    let server = server(8, true).await;
    let schema = create_schema(&server).await;
    let path = format!("{FLOWS}/flowschemas/tenants");
    let condition = |page: &str| {
        let object: Value = serde_json::from_str(page).unwrap_or_default();
        object["status"]["conditions"][0].clone()
    };
    let page = until(&server, &path, "it is dangling", |page| condition(page)["status"] == "True").await;
    let shown = condition(&page);
    assert_eq!((&shown["type"], &shown["reason"]), (&"Dangling".into(), &"NotFound".into()));
    let text = "This FlowSchema references the PriorityLevelConfiguration object named \"tenants\"";
    assert_eq!(shown["message"], format!("{text} but there is no such object"));
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let answer = connection.get("/api/v1/namespaces/default", Some("quiet-token")).await;
    assert_ne!(answer.headers["x-kubernetes-pf-flowschema-uid"], schema["metadata"]["uid"].as_str().unwrap());

    let object = json!({"metadata": {"name": "tenants"}, "spec": level(&json!({"type": "Reject"}))});
    let levels = format!("{FLOWS}/prioritylevelconfigurations");
    let created = send(&server, "POST", &levels, &object).await.json();
    let page = until(&server, &path, "it is not dangling", |page| condition(page)["status"] == "False").await;
    assert_eq!(condition(&page)["message"], format!("{text} and it exists"));
    let uids = [&schema, &created].map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned());
    until_in_force(&server, &uids).await;
    server.stop().await;
}

#[tokio::test]
async fn without_priority_and_fairness_the_limits_are_fixed() {
    let server = server(1, false).await;
    fill(&server, 24, 500_000).await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let answer = connection.get(SMALL, Some("quiet-token")).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.contains_key("x-kubernetes-pf-flowschema-uid"));
    assert_eq!(read(&server, &format!("{DUMPS}/dump_queues")).await.status, 404);

    let held = hold_seats(&server, "flood-token").await;
    let mut refused = connection.get(SMALL, Some("quiet-token")).await;
    for _ in 0..300 {
        if refused.status == 429 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        refused = connection.get(SMALL, Some("quiet-token")).await;
    }
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (429, "Too many requests, please try again later.\n")
    );
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(read(&server, SMALL).await.status, 200, "an administrator always gets an answer");
    drop(held);
    server.stop().await;
}
