//! Kinds that are defined while the server runs.

use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use http_body_util::BodyExt as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::client::{ADMIN, Answer, Connection, Protocol, request};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one server.
pub struct Client(pub Connection);

impl Client {
    pub async fn connect(server: &TestServer) -> Self {
        Self(Connection::open(server, Protocol::Http2).await)
    }

    pub async fn send(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.0.call(method, path, body).await
    }

    /// Applies an object on the server's side.
    pub async fn apply(&mut self, path: &str, object: &Value) -> Answer {
        let applied = ("content-type", "application/apply-patch+yaml");
        self.0.send(request("PATCH", path, &[ADMIN, applied], object)).await
    }

    /// Sends a request that must be answered with this status, and returns the body.
    pub async fn expect(&mut self, status: u16, method: &str, path: &str, body: Value) -> Value {
        let answer = self.send(method, path, &body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        answer.json()
    }

    pub async fn get(&mut self, path: &str) -> Value {
        self.expect(200, "GET", path, Value::Null).await
    }

    /// Creates a definition, and waits until it is established.
    pub async fn define(&mut self, definition: Value) {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        self.expect(201, "POST", DEFINITIONS, definition).await;
        self.until(&format!("{DEFINITIONS}/{name}"), |found| condition(found, "Established") == "True").await;
    }

    /// Reads until the answer is as wanted.
    pub async fn until(&mut self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.until_within(path, TIMEOUT, is_wanted).await
    }

    /// Reads until the answer is as wanted, for at most this time.
    pub async fn until_within(
        &mut self,
        path: &str,
        limit: Duration,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.send("GET", path, &Value::Null).await;
            // A page is not JSON.
            let answer = serde_json::from_slice(&answer.body).unwrap_or_default();
            if is_wanted(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < limit, "{path} is still {answer}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut found = conditions.filter(|condition| condition["type"] == kind);
    found.next().and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

fn spec_schema(spec: &Value) -> Value {
    let status = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
    let properties = json!({ "spec": spec, "status": status });
    json!({ "openAPIV3Schema": { "type": "object", "properties": properties } })
}

fn replicas_schema() -> Value {
    spec_schema(&json!({
        "type": "object", "required": ["replicas"],
        "properties": { "replicas": { "type": "integer", "maximum": 10 }, "color": { "type": "string" } },
    }))
}

fn widgets() -> Value {
    let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": replicas_schema(),
        "subresources": { "status": {}, "scale": scale },
        "additionalPrinterColumns": [{ "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas" }],
        "selectableFields": [{ "jsonPath": ".spec.color" }],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": { "plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"] },
        },
    })
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

#[tokio::test]
async fn a_defined_kind_is_served_as_any_other() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    assert_eq!(client.send("GET", WIDGETS, &Value::Null).await.status, 404);
    client.define(widgets()).await;

    let made =
        client.expect(201, "POST", WIDGETS, widget("a", &json!({ "replicas": 2, "color": "red" }))).await;
    assert_eq!(made["metadata"]["generation"], 1);
    let refused = client.expect(422, "POST", WIDGETS, widget("b", &json!({ "replicas": 11 }))).await;
    let cause = &refused["details"]["causes"][0];
    assert_eq!(cause["field"], "spec.replicas");
    assert_eq!(
        cause["message"],
        "Invalid value: 11: spec.replicas in body should be less than or equal to 10"
    );
    let refused = client.expect(422, "POST", WIDGETS, widget("b", &json!({}))).await;
    assert_eq!(refused["details"]["causes"][0]["message"], "Required value");

    let status = json!({ "status": { "replicas": 2 }, "spec": { "replicas": 5 } });
    let changed = client.expect(200, "PATCH", &format!("{WIDGETS}/a/status"), status).await;
    assert_eq!(changed["spec"]["replicas"], 2, "the status subresource changes nothing else");
    let scale = client
        .expect(200, "PATCH", &format!("{WIDGETS}/a/scale"), json!({ "spec": { "replicas": 3 } }))
        .await;
    assert_eq!((&scale["kind"], &scale["status"]["replicas"]), (&json!("Scale"), &json!(2)));
    let read = client.get(&format!("{WIDGETS}/a")).await;
    assert_eq!((&read["spec"]["replicas"], &read["metadata"]["generation"]), (&json!(3), &json!(2)));

    let selected = client.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dred")).await;
    assert_eq!(
        (&selected["kind"], &selected["items"][0]["metadata"]["name"]),
        (&json!("WidgetList"), &json!("a"))
    );
    let none = client.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dblue")).await;
    assert_eq!(none["items"], json!([]));

    let resources = client.get("/apis/example.com/v1").await;
    let names: Vec<&str> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    assert_eq!(client.get("/apis/example.com").await["preferredVersion"]["version"], "v1");
    let groups = client.get("/apis").await;
    assert!(groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "example.com"));
    let index = client.get("/openapi/v3").await;
    assert!(index["paths"]["apis/example.com/v1"].is_object(), "{index}");
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_with_it() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    client.define(widgets()).await;
    let mut held = widget("held", &json!({ "replicas": 1 }));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.expect(201, "POST", WIDGETS, held).await;
    client.expect(201, "POST", WIDGETS, widget("free", &json!({ "replicas": 1 }))).await;

    let definition = format!("{DEFINITIONS}/widgets.example.com");
    client.expect(200, "DELETE", &definition, Value::Null).await;
    client.until(WIDGETS, |list| list["items"].as_array().is_some_and(|items| items.len() == 1)).await;
    assert_eq!(condition(&client.get(&definition).await, "Terminating"), "True");
    let refused = client.expect(405, "POST", WIDGETS, widget("late", &json!({ "replicas": 1 }))).await;
    assert_eq!(refused["message"], "create not allowed while custom resource definition is terminating");

    let release = json!({ "metadata": { "finalizers": null } });
    client.expect(200, "PATCH", &format!("{WIDGETS}/held"), release).await;
    client.until(&definition, |answer| answer["code"] == 404).await;
    client.until(WIDGETS, Value::is_null).await;
    client.define(widgets()).await;
    assert_eq!(client.get(WIDGETS).await["items"], json!([]), "a new definition begins without objects");
    server.stop().await;
}

#[tokio::test]
async fn a_changed_schema_ends_watches_and_shows_on_old_objects() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    client.define(widgets()).await;
    let old = widget("a", &json!({ "replicas": 1, "color": "red" }));
    client.expect(201, "POST", WIDGETS, old).await;
    let mut watcher = Connection::open(&server, Protocol::Http2).await;
    let events = watcher.stream(&format!("{WIDGETS}?watch=1&resourceVersion=0")).await;

    let schema = spec_schema(&json!({
        "type": "object", "properties": { "size": { "type": "string", "default": "L" }, "replicas": { "type": "integer" } },
    }));
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let mut changed = client.get(&definition).await;
    changed["spec"]["versions"][0]["schema"] = schema;
    changed["spec"]["versions"][0]["selectableFields"] = Value::Null;
    client.expect(200, "PUT", &definition, changed).await;

    let read = client.until(&format!("{WIDGETS}/a"), |found| found["spec"]["size"] == "L").await;
    assert_eq!(read["spec"].get("color"), None, "what the schema does not have is pruned");
    assert_eq!(client.get(WIDGETS).await["items"][0]["spec"]["size"], "L");
    let ended = tokio::time::timeout(TIMEOUT, events.collect()).await.expect("the watch ends").unwrap();
    assert!(String::from_utf8_lossy(&ended.to_bytes()).starts_with(r#"{"type":"ADDED""#));
    let written =
        client.expect(200, "PATCH", &format!("{WIDGETS}/a"), json!({ "spec": { "replicas": 9 } })).await;
    assert_eq!(written["spec"], json!({ "replicas": 9, "size": "L" }));
    server.stop().await;
}

#[tokio::test]
async fn objects_that_no_version_serves_are_deleted_with_their_definition() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    client.define(widgets()).await;
    client.expect(201, "POST", WIDGETS, widget("a", &json!({ "replicas": 1 }))).await;
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let mut hidden = client.get(&definition).await;
    hidden["spec"]["versions"][0]["served"] = json!(false);
    client.expect(200, "PUT", &definition, hidden).await;
    client.until(WIDGETS, Value::is_null).await;

    client.expect(200, "DELETE", &definition, Value::Null).await;
    client.until(&definition, |answer| answer["code"] == 404).await;
    client.define(widgets()).await;
    assert_eq!(client.get(WIDGETS).await["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn the_second_of_two_definitions_with_one_kind_waits() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    client.define(widgets()).await;
    let mut other = widgets();
    other["metadata"]["name"] = json!("gadgets.example.com");
    other["spec"]["names"] = json!({ "plural": "gadgets", "kind": "Widget", "listKind": "GadgetList" });
    client.expect(201, "POST", DEFINITIONS, other).await;
    let gadgets = format!("{DEFINITIONS}/gadgets.example.com");
    let waiting = client.until(&gadgets, |found| condition(found, "NamesAccepted") == "False").await;
    assert_eq!(condition(&waiting, "Established"), "False");
    let path = "/apis/example.com/v1/namespaces/default/gadgets";
    assert_eq!(client.send("GET", path, &Value::Null).await.status, 404);

    client.expect(200, "DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    client.until(&gadgets, |found| condition(found, "Established") == "True").await;
    client.get(path).await;
    server.stop().await;
}

#[tokio::test]
async fn a_restarted_server_serves_what_was_defined_before() {
    let server = TestServer::start().await;
    let mut client = Client::connect(&server).await;
    client.define(widgets()).await;
    client.expect(201, "POST", WIDGETS, widget("a", &json!({ "replicas": 1 }))).await;
    let directory = server.directory().clone();
    server.stop().await;
    let again = TestServer::builder().directory(&directory).start().await.unwrap();
    let mut client = Client::connect(&again).await;
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await["spec"]["replicas"], 1);
    again.stop().await;
}

fn over(etcd: &Etcd) -> TestServerBuilder {
    TestServer::builder().etcd(&etcd.options().endpoints[0], "/registry")
}

#[tokio::test]
async fn a_kind_defined_through_one_server_is_served_by_the_other_at_once() {
    let etcd = Etcd::start().await.unwrap();
    let first = over(&etcd).start().await.unwrap();
    let second = over(&etcd).start().await.unwrap();
    let mut first_client = Client::connect(&first).await;
    let mut other = Client::connect(&second).await;
    for round in 0..10 {
        let mut definition = widgets();
        let group = format!("g{round}.example.com");
        definition["metadata"]["name"] = json!(format!("widgets.{group}"));
        definition["spec"]["group"] = json!(group);
        first_client.define(definition).await;
        let mut object = widget("a", &json!({ "replicas": 1 }));
        object["apiVersion"] = json!(format!("{group}/v1"));
        let path = format!("/apis/{group}/v1/namespaces/default/widgets");
        other.expect(201, "POST", &path, object).await;
    }
    first.stop().await;
    second.stop().await;
}
