//! The requests of dashboards (k9s, Lens, Headlamp), one after the other, with what they read in the answers.

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const LAMPS: &str = "/apis/example.com/v1/lamps";

/// A request: its accepted types, method, path and body; the code of the answer, and values in it.
struct Row {
    accept: &'static str,
    call: (&'static str, &'static str, Value),
    code: u16,
    shown: Vec<(&'static str, Value)>,
}

fn get(accept: &'static str, path: &'static str, code: u16, shown: &[(&'static str, Value)]) -> Row {
    Row { accept, call: ("GET", path, Value::Null), code, shown: shown.to_vec() }
}

fn post(path: &'static str, body: Value, shown: &[(&'static str, Value)]) -> Row {
    Row { accept: JSON, call: ("POST", path, body), code: 201, shown: shown.to_vec() }
}

/// The version, and what is served: all of it in two requests.
fn connecting() -> Vec<Row> {
    vec![
        get(JSON, "/version", 200, &[("/major", json!("1")), ("/minor", json!("36"))]),
        get(
            DISCOVERY,
            "/api",
            200,
            &[
                ("/kind", json!("APIGroupDiscoveryList")),
                ("/items/0/versions/0/version", json!("v1")),
                ("/items/0/versions/0/resources/0/resource", json!("bindings")),
            ],
        ),
        get(DISCOVERY, "/apis", 200, &[("/kind", json!("APIGroupDiscoveryList"))]),
        // Older ones ask for each group.
        get(JSON, "/apis/apps/v1", 200, &[("/kind", json!("APIResourceList"))]),
        // k9s and Lens show no usage if there is no metrics-server.
        get(JSON, "/apis/metrics.k8s.io/v1beta1", 404, &[]),
        get(JSON, "/apis/metrics.k8s.io/v1beta1/nodes", 404, &[]),
    ]
}

/// The rights by which menus and buttons are hidden.
fn rights() -> Vec<Row> {
    let access = |attributes: Value, allowed: bool| {
        post(
            ACCESS,
            json!({"spec": {"resourceAttributes": attributes}}),
            &[("/status/allowed", json!(allowed))],
        )
    };
    let rules = json!({"spec": {"namespace": "default"}});
    let mut rows = vec![
        post(
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            rules,
            &[("/status/incomplete", json!(false))],
        ),
        access(json!({"verb": "*", "group": "*", "resource": "*"}), true),
        access(json!({"verb": "list", "resource": "namespaces"}), true),
    ];
    // Lens asks for each kind in each namespace.
    for resource in ["pods", "secrets", "configmaps", "services", "events", "endpoints", "nodes"] {
        rows.push(access(json!({"verb": "list", "resource": resource, "namespace": "default"}), true));
    }
    rows
}

/// Lists, definitions and events.
fn browsing() -> Vec<Row> {
    let event = |name: &str, pod: &str| {
        let about = json!({"kind": "Pod", "namespace": "default", "name": pod, "uid": "7"});
        post(
            "/api/v1/namespaces/default/events",
            json!({"metadata": {"name": name}, "involvedObject": about, "reason": "Started", "type": "Normal"}),
            &[("/involvedObject/name", json!(pod))],
        )
    };
    vec![
        get(
            TABLE,
            "/api/v1/namespaces?includeObject=Object&limit=500",
            200,
            &[
                ("/kind", json!("Table")),
                ("/rows/0/cells/1", json!("Active")),
                ("/rows/0/object/kind", json!("Namespace")),
                ("/rows/0/object/status/phase", json!("Active")),
            ],
        ),
        get(TABLE, "/api/v1/namespaces?includeObject=None", 200, &[("/rows/0/object", Value::Null)]),
        get(TABLE, "/api/v1/namespaces", 200, &[("/rows/0/object/kind", json!("PartialObjectMetadata"))]),
        get(TABLE, "/api/v1/namespaces?includeObject=Everything", 400, &[("/reason", json!("BadRequest"))]),
        get(
            METADATA,
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=500",
            200,
            &[
                ("/kind", json!("PartialObjectMetadataList")),
                ("/items/0/metadata/name", json!("lamps.example.com")),
            ],
        ),
        get(TABLE, LAMPS, 200, &[("/columnDefinitions/1/name", json!("Bulbs"))]),
        event("first", "web"),
        event("second", "db"),
        get(
            JSON,
            "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb%2CinvolvedObject.namespace%3Ddefault%2CinvolvedObject.kind%3DPod%2CinvolvedObject.uid%3D7",
            200,
            &[("/items/0/metadata/name", json!("first")), ("/items/1", Value::Null)],
        ),
        get(JSON, "/api/v1/events?fieldSelector=type%21%3DNormal&limit=1", 200, &[("/items", json!([]))]),
        get(
            JSON,
            "/api/v1/events?fieldSelector=involvedObject.colour%3Dblue",
            400,
            &[("/reason", json!("BadRequest"))],
        ),
        get(
            JSON,
            "/api/v1/namespaces/default/pods/none/log?tailLines=100&timestamps=true",
            404,
            &[("/message", json!("pods \"none\" not found"))],
        ),
    ]
}

#[tokio::test]
async fn dashboards_find_what_they_ask_for() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run_with_input("create -f -", super::kubectl_custom_resources::DEFINITION).await;
    kubectl.run("wait --for=condition=Established crd/lamps.example.com").await;
    let client = super::client(server.kubeconfig_path()).await;
    for row in [connecting(), rights(), browsing()].into_iter().flatten() {
        let (method, path, body) = row.call;
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(&body).unwrap() };
        let request = Request::builder().method(method).uri(path).header("Accept", row.accept);
        let request = request.header("Content-Type", JSON).body(kube::client::Body::from(body)).unwrap();
        let answer = client.send(request).await.unwrap();
        let code = answer.status().as_u16();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(code, row.code, "{method} {path}: {}", String::from_utf8_lossy(&text));
        let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
        for (pointer, expected) in row.shown {
            let found = answer.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!(found, expected, "{method} {path}: {pointer}");
        }
    }
    server.stop().await;
}
