//! Selections by the fields of one version, which the webhook moves.

use std::fmt::Write as _;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol};
use crate::custom_resources::Client;

use super::webhook::{Behavior, TIMEOUT, Webhook};
use super::{DEFINITION, TestServer, V1, V2, definition, host};

/// A running watch. It keeps its connection.
struct Watch {
    body: Incoming,
    received: String,
    _connection: Connection,
}

impl Watch {
    async fn start(server: &TestServer, query: &str) -> Self {
        let mut connection = Connection::open(server, Protocol::Http2).await;
        let body = connection.stream(&format!("{V2}?watch=1{query}")).await;
        Self { body, received: String::new(), _connection: connection }
    }

    /// Returns the next event, as its type and the object's name, host and revision.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((line, rest)) = self.received.split_once('\n') {
                let event: Value = serde_json::from_str(line).unwrap();
                let rest = rest.to_owned();
                self.received = rest;
                return Some((event["type"].as_str().unwrap().to_owned(), event["object"].clone()));
            }
            let frame = tokio::time::timeout(TIMEOUT, self.body.frame()).await.expect("an event in time")?;
            write!(self.received, "{}", String::from_utf8_lossy(frame.unwrap().data_ref()?)).unwrap();
        }
    }

    async fn expect(&mut self, kind: &str, name: &str, host: &str) -> Value {
        let (found, object) = self.next().await.expect("the watch goes on");
        let shown = (&object["metadata"]["name"], &object["spec"]["host"]);
        assert_eq!((found.as_str(), shown), (kind, (&json!(name), &json!(host))), "{object}");
        object
    }
}

async fn started() -> (TestServer, Client, Webhook) {
    let webhook = Webhook::start().await;
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let mut selectable = definition(&webhook.client_config(), &json!(["v1"]));
    selectable["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.hostPort" }]);
    selectable["spec"]["versions"][1]["selectableFields"] = json!([{ "jsonPath": ".spec.host" }]);
    client.define(selectable).await;
    (server, client, webhook)
}

async fn create(client: &mut Client, name: &str, address: &str) -> Value {
    client.expect(201, "POST", V1, host("v1", name, &json!({ "hostPort": address }))).await
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_deletions_select_by_the_fields_of_the_version_asked_for() {
    let (server, mut client, webhook) = started().await;
    for (name, address) in [("a", "x:1"), ("b", "y:1"), ("c", "x:2"), ("d", "y:2"), ("e", "x:3")] {
        create(&mut client, name, address).await;
    }
    let of_x = format!("{V2}?fieldSelector=spec.host%3Dx");
    assert_eq!(names(&client.get(&of_x).await), ["a", "c", "e"]);
    assert_eq!(names(&client.get(&format!("{V2}?fieldSelector=spec.host!%3Dx")).await), ["b", "d"]);
    let both = format!("{V2}?fieldSelector=spec.host%3Dx,metadata.name%3Dc");
    assert_eq!(names(&client.get(&both).await), ["c"]);
    assert_eq!(names(&client.get(&format!("{V1}?fieldSelector=spec.hostPort%3Dy:2")).await), ["d"]);

    let first = client.get(&format!("{of_x}&limit=2")).await;
    assert_eq!((names(&first), first["metadata"].get("remainingItemCount")), (vec!["a", "c"], None));
    let token = first["metadata"]["continue"].as_str().unwrap();
    create(&mut client, "f", "x:4").await;
    let second = client.get(&format!("{of_x}&limit=2&continue={token}")).await;
    assert_eq!(
        (names(&second), &second["metadata"]["continue"]),
        (vec!["e"], &json!("")),
        "at the same revision"
    );
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(names(&client.get(&format!("{of_x}&limit=0")).await), ["a", "c", "e", "f"]);

    for (path, field) in [(V2, "spec.hostPort"), (V1, "spec.host"), (V2, "spec.port")] {
        let refused =
            client.expect(400, "GET", &format!("{path}?fieldSelector={field}%3Dx"), Value::Null).await;
        assert_eq!(refused["message"], format!("field label not supported: {field}"));
    }
    webhook.set(Behavior::Refuse);
    create(&mut client, "g", "x:5").await;
    for (method, path) in [("GET", of_x.clone()), ("DELETE", of_x.clone())] {
        let failed = client.expect(500, method, &path, Value::Null).await;
        assert!(failed["message"].as_str().unwrap().ends_with("failed: it is too hot"), "{failed}");
    }
    assert_eq!(names(&client.get(V1).await).len(), 7, "nothing was deleted");
    webhook.set(Behavior::Convert);
    let deleted = client.expect(200, "DELETE", &of_x, Value::Null).await;
    assert_eq!(names(&deleted), ["a", "c", "e", "f", "g"]);
    assert_eq!(names(&client.get(V1).await), ["b", "d"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_select_by_the_fields_of_the_version_asked_for() {
    let (server, mut client, _webhook) = started().await;
    create(&mut client, "a", "x:1").await;
    let b = create(&mut client, "b", "y:1").await;
    let selector = "&fieldSelector=spec.host%3Dx";
    let revision = b["metadata"]["resourceVersion"].as_str().unwrap();
    let mut initial = Watch::start(&server, &format!("{selector}&resourceVersion=0")).await;
    initial.expect("ADDED", "a", "x").await;
    let mut later = Watch::start(&server, &format!("{selector}&resourceVersion={revision}")).await;
    for (name, host) in [("b", "x"), ("a", "z"), ("b", "x")] {
        let port = if name == "b" {
            Value::from(client.get(V2).await["items"].to_string().len().to_string())
        } else {
            json!("1")
        };
        let patch = json!({ "spec": { "host": host, "port": port } });
        client.expect(200, "PATCH", &format!("{V2}/{name}"), patch).await;
    }
    client.expect(200, "DELETE", &format!("{V1}/b"), Value::Null).await;
    create(&mut client, "c", "x:9").await;
    for watch in [&mut initial, &mut later] {
        watch.expect("ADDED", "b", "x").await;
        let gone = watch.expect("DELETED", "a", "x").await;
        let at: u64 = gone["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        assert!(at > revision.parse().unwrap(), "the revision is the change's: {gone}");
        watch.expect("MODIFIED", "b", "x").await;
        watch.expect("DELETED", "b", "x").await;
        watch.expect("ADDED", "c", "x").await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_sees_the_objects_of_a_deleted_definition_go() {
    let (server, mut client, webhook) = started().await;
    for name in ["a", "b", "c"] {
        create(&mut client, name, "x:1").await;
    }
    let mut all = Watch::start(&server, "&resourceVersion=0").await;
    for name in ["a", "b", "c"] {
        all.expect("ADDED", name, "x").await;
    }
    webhook.set(Behavior::Slow);
    client.expect(200, "DELETE", DEFINITION, Value::Null).await;
    client.until(DEFINITION, |answer| answer["code"] == 404).await;
    let mut gone = Vec::new();
    while let Some((kind, object)) = all.next().await {
        assert_eq!((kind.as_str(), &object["spec"]["host"]), ("DELETED", &json!("x")), "{object}");
        gone.push(object["metadata"]["name"].as_str().unwrap().to_owned());
    }
    gone.sort_unstable();
    assert_eq!(gone, ["a", "b", "c"]);
    server.stop().await;
}
