//! Large bodies, and their effect on other requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol, post};
use crate::metrics::Page;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The default of `--request-timeout`.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

fn with_owners(count: usize) -> Value {
    let reference = |number: usize| {
        let name = format!("o{number}");
        json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name})
    };
    let references: Vec<Value> = (0..count).map(reference).collect();
    json!({"metadata": {"name": "owned", "ownerReferences": references}})
}

fn with_unknown_fields(count: usize) -> Value {
    let mut object: serde_json::Map<String, Value> =
        (0..count).map(|number| (format!("f{number:06}"), Value::from(1))).collect();
    object.insert("metadata".to_owned(), json!({"name": "odd"}));
    Value::Object(object)
}

/// Creates an object; returns the status and the `Warning` headers.
async fn create(server: &TestServer, query: &str, object: &Value) -> (u16, Vec<String>) {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    let mut request = post(&format!("{CONFIG_MAPS}{query}"), object.to_string().into_bytes());
    request.headers_mut().insert("content-type", "application/json".parse().unwrap());
    let answer = connection.send(request).await;
    let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
    (answer.status, answer.headers.get_all("warning").iter().map(text).collect())
}

/// Connects and reads repeatedly until `is_over`; returns the number of rounds, and the longest time.
async fn connect_and_read(server: Arc<TestServer>, is_over: Arc<AtomicBool>) -> (usize, Duration) {
    let mut count = 0;
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        let answer = connection.get("/api/v1/namespaces/default", Some(server.admin_token())).await;
        assert_eq!(answer.status, 200);
        longest = longest.max(begin.elapsed());
        count += 1;
    }
    (count, longest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_bodies_are_answered_in_time_and_delay_nobody() {
    let server = Arc::new(TestServer::builder().memory().start().await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let others = tokio::spawn(connect_and_read(server.clone(), is_over.clone()));
    let begin = Instant::now();
    let owners = with_owners(20_000);
    let fields = with_unknown_fields(200_000);
    let (owned, odd) = tokio::join!(create(&server, "", &owners), create(&server, "", &fields));
    let took = begin.elapsed();
    is_over.store(true, Ordering::Relaxed);
    let (count, longest) = others.await.unwrap();

    assert_eq!((owned.0, odd.0), (201, 201));
    assert!(took < REQUEST_TIMEOUT / 2, "the answers took {took:?}");
    assert!(count > 0);
    assert!(longest < took.max(Duration::from_secs(1)), "somebody waited {longest:?} of {took:?}");
    // 100 issues of 23 characters are below the bound of 4,096 characters.
    assert_eq!(odd.1.len(), 100);
    assert_eq!(odd.1[0], r#"299 - "unknown field \"f000000\"""#);
    assert!(Page::scrape(&server).await.sum("orlop_scheduling_delay_seconds_count", &[]) > 0.0);
}

#[tokio::test]
async fn strict_validation_names_a_hundred_fields() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let path = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    let mut request = post(&path, with_unknown_fields(1_000).to_string().into_bytes());
    request.headers_mut().insert("content-type", "application/json".parse().unwrap());
    let answer = connection.send(request).await;
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(answer.status, 400);
    assert_eq!(message.matches("unknown field").count(), 100, "{message}");
    assert!(message.ends_with(r#"unknown field "f000099""#), "{message}");
}

#[tokio::test]
async fn an_object_that_is_too_large_with_its_managers_is_stored_without_them() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    // The names are larger than the values, so that the managers take as much as the object.
    let names = "n".repeat(70);
    let data: serde_json::Map<String, Value> =
        (0..9_999).map(|number| (format!("{names}-{number}"), "A".into())).collect();
    let large = |name: &str| json!({"metadata": {"name": name}, "data": data});
    let small = |name: &str| json!({"metadata": {"name": name}});
    let mut send = async |method: http::Method, path: String, media_type: &str, body: &Value| {
        let mut request = post(&path, body.to_string().into_bytes());
        *request.method_mut() = method;
        request.headers_mut().insert("content-type", media_type.parse().unwrap());
        let answer = connection.send(request).await;
        (answer.status, answer.json())
    };
    let (post, put, patch) = (http::Method::POST, http::Method::PUT, http::Method::PATCH);
    let (json_type, merge) = ("application/json", "application/merge-patch+json");
    let at = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let mut stored = vec![send(post.clone(), CONFIG_MAPS.to_owned(), json_type, &large("created")).await];
    for name in ["updated", "patched"] {
        let (status, object) = send(post.clone(), CONFIG_MAPS.to_owned(), json_type, &small(name)).await;
        assert_eq!(
            (status, object["metadata"]["managedFields"].is_null()),
            (201, true),
            "no field is managed"
        );
    }
    stored.push(send(put, at("updated"), json_type, &large("updated")).await);
    stored.push(send(patch.clone(), at("patched"), merge, &large("patched")).await);
    let statuses: Vec<u16> = stored.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [201, 200, 200]);
    for (_, object) in stored {
        assert_eq!(object["data"].as_object().map(serde_json::Map::len), Some(9_999));
        assert_eq!(object["metadata"].get("managedFields"), None);
    }
    // Whoever applies relies on the managers.
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "created"}});
    let path = format!("{}?fieldManager=m", at("created"));
    let (status, refused) = send(patch, path, "application/apply-patch+yaml", &applied).await;
    assert_eq!((status, &refused["reason"]), (413, &json!("RequestEntityTooLarge")));
    server.stop().await;
}
