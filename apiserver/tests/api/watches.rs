//! Watches, frame by frame.

use std::time::Duration;

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixture::{Server, config_map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An open watch.
struct Watch {
    body: Body,
    pending: Vec<u8>,
}

impl Watch {
    async fn open(server: &Server, url: &str, accept: &str) -> Self {
        let request = Request::get(url).header("accept", accept).body(Body::empty()).unwrap();
        let response = server.open(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        Self { body: response.into_body(), pending: Vec::new() }
    }

    /// Returns the next frame, or `None` at the end of the watch.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame =
                timeout(Duration::from_secs(10), self.body.frame()).await.expect("a frame in time")?;
            self.pending.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
    }

    /// Returns the next frame's type and its object's name.
    async fn event(&mut self) -> (String, String) {
        let frame = self.next().await.expect("a frame");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&frame["type"]), text(&frame["object"]["metadata"]["name"]))
    }
}

fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn changes_arrive_in_order() {
    let server = Server::start().await;
    let list = server.get(MAPS).await.json();
    let from = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut all = Watch::open(&server, &format!("{MAPS}?watch=1&resourceVersion={from}"), "*/*").await;
    let mut single = Watch::open(
        &server,
        &format!("/api/v1/watch/namespaces/default/configmaps/b?resourceVersion={from}"),
        "*/*",
    )
    .await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    server.post(MAPS, &config_map("b")).await.expect(201);
    server.patch(&format!("{MAPS}/a"), "merge-patch+json", &json!({"data": {"k": "2"}})).await.expect(200);
    server.write(Method::DELETE, &format!("{MAPS}/a"), "application/json", "").await.expect(200);

    assert_eq!(all.event().await, event("ADDED", "a"));
    assert_eq!(all.event().await, event("ADDED", "b"));
    assert_eq!(all.event().await, event("MODIFIED", "a"));
    let deleted = all.next().await.unwrap();
    assert_eq!((&deleted["type"], &deleted["object"]["data"]["k"]), (&json!("DELETED"), &json!("2")));
    assert_eq!(deleted["object"]["kind"], "ConfigMap");
    assert_eq!(single.event().await, event("ADDED", "b"));

    server.shutdown.cancel();
    assert!(all.next().await.is_none());
}

#[tokio::test]
async fn the_present_state_can_come_first() {
    let server = Server::start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    let streaming = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watch = Watch::open(&server, &streaming, "application/json").await;
    assert_eq!(watch.event().await, event("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["kind"], "ConfigMap");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    server.post(MAPS, &config_map("b")).await.expect(201);
    assert_eq!(watch.event().await, event("ADDED", "b"));
}

/// A client that watches again continues from nearly the newest revision, also if nothing that it selects has changed.
#[tokio::test]
async fn a_quiet_watch_gets_a_bookmark_before_its_timeout() {
    let server = Server::start().await;
    let quiet = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
    let url = format!("{quiet}?watch=1&allowWatchBookmarks=true&timeoutSeconds=8");
    let mut watch = Watch::open(&server, &url, "application/json").await;
    let written = server.post(MAPS, &config_map("a")).await.expect(201).json();
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert!(revision(&bookmark["object"]) >= revision(&written), "{bookmark} does not cover {written}");
    assert!(watch.next().await.is_none());
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// The status of the response is 200, as kube-apiserver's.
#[tokio::test]
async fn a_watch_from_a_version_to_come_ends_with_an_error_event() {
    let server = Server::start().await;
    let future = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
         &resourceVersion=1000000"
    );
    let mut watch = Watch::open(&server, &future, "*/*").await;
    let ended = watch.next().await.unwrap();
    assert_eq!(ended["type"], "ERROR");
    assert_eq!(ended["object"]["kind"], "Status");
    assert_eq!((&ended["object"]["code"], &ended["object"]["reason"]), (&json!(504), &json!("Timeout")));
    assert_eq!(ended["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert!(watch.next().await.is_none());

    let invalid = server.get(&format!("{MAPS}?watch=1&resourceVersionMatch=Never")).await;
    assert_eq!(invalid.status, 422, "other failures are responses");
}

/// In a table, the end of the initial events is a row whose object has the annotation.
#[tokio::test]
async fn the_present_state_can_come_first_as_tables() {
    let server = Server::start().await;
    let streaming = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for include in ["Metadata", "None", "Object"] {
        let url = format!("{streaming}&includeObject={include}");
        let mut watch = Watch::open(&server, &url, table).await;
        let bookmark = watch.next().await.unwrap();
        assert_eq!((&bookmark["type"], &bookmark["object"]["kind"]), (&json!("BOOKMARK"), &json!("Table")));
        assert!(bookmark["object"]["columnDefinitions"].is_array(), "it is the first");
        let [row] = bookmark["object"]["rows"].as_array().unwrap().as_slice() else { panic!("{bookmark}") };
        assert_eq!(row["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
        assert_eq!(
            row["object"]["metadata"]["resourceVersion"],
            bookmark["object"]["metadata"]["resourceVersion"]
        );
        assert_eq!(row["cells"][0], "", "it has no name");
        let kind = if include == "Object" { "ConfigMap" } else { "PartialObjectMetadata" };
        assert_eq!(row["object"]["kind"], kind);
    }
}

#[tokio::test]
async fn watches_have_forms_and_ends() {
    let server = Server::start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    server.post(MAPS, &config_map("b")).await.expect(201);
    let url = format!("{MAPS}?watch=1&timeoutSeconds=1");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let mut watch = Watch::open(&server, &url, table).await;
    let first = watch.next().await.unwrap();
    let second = watch.next().await.unwrap();
    assert!(first["object"]["columnDefinitions"].is_array());
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
    assert_eq!(second["object"]["rows"][0]["cells"][0], "b");
    assert!(watch.next().await.is_none());

    let refused = server.get_as(&url, "application/yaml").await.expect(406);
    assert_eq!(refused.headers["content-type"], "application/yaml");
    let streamed = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    let why = format!("only the following media types are accepted: {streamed}");
    assert!(refused.text().contains(&why), "{}", refused.text());
    let bad = server.get(&format!("{MAPS}?watch=1&resourceVersion=zork")).await.failure();
    assert_eq!(
        bad,
        (
            500,
            "resourceVersion: Invalid value: \"zork\": strconv.ParseUint: parsing \"zork\": invalid syntax"
                .to_owned()
        )
    );
}
