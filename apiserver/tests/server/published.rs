//! The first objects that a server creates, and the documents about its API.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use apiserver::testing::TestServer;
use serde_json::{Map, Value, json};

use crate::client::{ADMIN, Connection, Protocol, post, request};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

async fn get(connection: &mut Connection, path: &str) -> Value {
    let answer = connection.get(path, Some("admin-token")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_restart_mends_what_is_the_servers_and_writes_nothing_else() {
    let server = TestServer::start().await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let own = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let url = format!("{ROLES}/system:basic-user");
    let lacking = json!({ "rules": own });
    assert_eq!(connection.call("PATCH", &url, &lacking).await.status, 200);
    let protecting = json!({
        "rules": own, "metadata": { "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "false" } },
    });
    let protected_url = format!("{ROLES}/system:discovery");
    assert_eq!(connection.call("PATCH", &protected_url, &protecting).await.status, 200);
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }] } });
    let made = connection.send(post("/api/v1/namespaces/default/services", service.to_string().into())).await;
    let address = made.json()["spec"]["clusterIP"].as_str().unwrap().to_owned();
    await_aggregated_roles(&mut connection).await;
    let directory = server.directory().clone();
    server.stop().await;

    let again = TestServer::builder().directory(&directory).start().await.unwrap();
    let mut connection = Connection::open(&again, Protocol::Http2).await;
    let mended = get(&mut connection, &url).await;
    assert!(mended["rules"].as_array().unwrap().len() > 1, "{mended}");
    assert_eq!(get(&mut connection, &protected_url).await["rules"], own);
    let holder = get(&mut connection, &format!("/apis/networking.k8s.io/v1/ipaddresses/{address}")).await;
    assert_eq!(holder["spec"]["parentRef"]["name"], "s");
    let first = get(&mut connection, "/api/v1/namespaces/default/services/kubernetes").await;
    assert_eq!(first["spec"]["clusterIP"], "10.0.0.1");
    again.stop().await;

    // The second server had another port; a third one with the same port changes nothing.
    let revision =
        |list: &Value| list["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let before = revision(&mended);
    let third = TestServer::builder().directory(&directory).start().await.unwrap();
    let mut connection = Connection::open(&third, Protocol::Http2).await;
    assert_eq!(revision(&get(&mut connection, &url).await), before);
    for path in [ROLES, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"] {
        for item in get(&mut connection, path).await["items"].as_array().unwrap() {
            assert!(revision(item) <= before, "{} was written again", item["metadata"]["name"]);
        }
    }
    third.stop().await;
}

/// Waits until the controller has written the rules of all aggregated roles: `admin` has those of `edit`, and that those of `view`.
async fn await_aggregated_roles(connection: &mut Connection) {
    for attempt in 0.. {
        let mut rules = Vec::new();
        for name in ["view", "edit", "admin"] {
            let role = get(connection, &format!("{ROLES}/{name}")).await;
            rules.push(role["rules"].as_array().cloned().unwrap_or_default());
        }
        let [view, edit, admin] = &*rules else { unreachable!("three roles") };
        let has_all = |more: &[Value], rules: &[Value]| rules.iter().all(|rule| more.contains(rule));
        if !view.is_empty() && has_all(edit, view) && has_all(admin, edit) {
            return;
        }
        assert!(attempt < 500, "the roles have no rules");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn openapi_v2_is_given_in_all_its_forms() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let answer = connection.get("/openapi/v2", Some("admin-token")).await;
    assert_eq!((answer.status, &answer.headers["content-type"]), (200, &"application/json".parse().unwrap()));
    let tag = answer.headers["etag"].to_str().unwrap().to_owned();
    let unchanged =
        connection.send(request("GET", "/openapi/v2", &[ADMIN, ("if-none-match", &tag)], &Value::Null)).await;
    assert_eq!(unchanged.status, 304);
    for name in ["v2.v1.0", "v2@v1.0"] {
        let accept = format!("application/com.github.proto-openapi.spec.{name}+protobuf");
        let protobuf =
            connection.send(request("GET", "/openapi/v2", &[ADMIN, ("accept", &accept)], &Value::Null)).await;
        let media_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
        assert_eq!(protobuf.headers["content-type"], media_type);
        assert!(protobuf.body.starts_with(b"\x0a\x032.0"));
    }
    let refused =
        connection.send(request("GET", "/openapi/v2", &[ADMIN, ("accept", "text/html")], &Value::Null)).await;
    assert_eq!(refused.status, 406);
    server.stop().await;
}

#[tokio::test]
async fn openapi_names_the_values_of_enumerated_fields_while_their_gate_is_on() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let v2 = get(&mut connection, "/openapi/v2").await;
    let v3 = get(&mut connection, "/openapi/v3/api/v1").await;
    for schemas in [&v2["definitions"], &v3["components"]["schemas"]] {
        let field =
            |kind: &str, field: &str| &schemas[format!("io.k8s.api.core.v1.{kind}")]["properties"][field];
        let policy = field("PodSpec", "restartPolicy");
        assert_eq!(policy["enum"], json!(["Always", "Never", "OnFailure"]));
        let text = policy["description"].as_str().unwrap();
        assert!(
            text.ends_with("\n\nPossible enum values:\n - `\"Always\"`\n - `\"Never\"`\n - `\"OnFailure\"`"),
            "{text}"
        );
        assert!(!text.starts_with('\n') && !text.contains("\n\n\n"), "{text}");
        assert_eq!(field("ServiceSpec", "ipFamilies")["items"]["enum"], json!(["", "IPv4", "IPv6"]));
        let statuses = field("PersistentVolumeClaimStatus", "allocatedResourceStatuses");
        assert_eq!(statuses["additionalProperties"]["enum"].as_array().map(Vec::len), Some(5), "{statuses}");
        assert!(statuses.get("enum").is_none(), "{statuses}");
    }
    let index = get(&mut connection, "/openapi/v3").await;
    server.stop().await;

    let flag = "--feature-gates=OpenAPIEnums=false";
    let server = TestServer::builder().memory().flag(flag).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for path in ["/openapi/v2", "/openapi/v3/api/v1"] {
        let text = get(&mut connection, path).await.to_string();
        assert!(!text.contains("\"enum\":[") && !text.contains("Possible enum values"), "{path}");
    }
    assert_ne!(get(&mut connection, "/openapi/v3").await, index, "the hashes differ");
    server.stop().await;
}

/// Compares the document with Kubernetes' own, in the directory `ORLOP_UPSTREAM`, which is without enumerations.
#[tokio::test]
async fn openapi_v2_says_what_kubernetes_says() {
    let Some(directory) = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = "ORLOP_UPSTREAM names no directory with upstream's data";
        io::stderr()
            .write_all(format!("SKIPPED openapi_v2_says_what_kubernetes_says: {text}\n").as_bytes())
            .unwrap();
        return;
    };
    let theirs = std::fs::read(directory.join("openapi/swagger.json")).unwrap();
    let theirs: Value = serde_json::from_slice(&theirs).unwrap();
    let server =
        TestServer::builder().memory().flag("--feature-gates=OpenAPIEnums=false").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let ours = get(&mut connection, "/openapi/v2").await;

    let (same, different) = compare(&definitions(&ours), &definitions(&theirs));
    println!("definitions: {same} equal, {} not: {different:?}", different.len());
    assert!(different.is_empty() && same > 500, "{different:?}");
    let (same, different) = compare(&operations(&ours), &operations(&theirs));
    println!("operations: {same} equal, {} not", different.len());
    assert!(different.is_empty() && same > 700, "{different:?}");
    server.stop().await;
}

/// Returns the number of equal entries, and the names of the others.
fn compare(ours: &BTreeMap<String, Value>, theirs: &BTreeMap<String, Value>) -> (usize, Vec<String>) {
    let different = ours.iter().filter(|(name, value)| theirs.get(*name) != Some(value));
    let different: Vec<String> = different.map(|(name, _)| name.clone()).collect();
    (ours.len() - different.len(), different)
}

/// Returns the definitions, without the order of required fields, and the groups of shared ones.
fn definitions(document: &Value) -> BTreeMap<String, Value> {
    let definitions = document["definitions"].as_object().unwrap().iter();
    let plain = definitions.map(|(name, definition)| {
        let mut definition = definition.clone();
        sort_required(&mut definition);
        definition.as_object_mut().unwrap().remove("x-kubernetes-group-version-kind");
        (name.clone(), definition)
    });
    plain.collect()
}

fn sort_required(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        if let Some(Value::Array(required)) = fields.get_mut("required") {
            required.sort_by_key(Value::to_string);
        }
        fields.values_mut().for_each(sort_required);
    }
}

/// Returns the operations by method and path, with their names, inputs and outputs. Excluded: CBOR, which
/// needs a feature gate, and the parameter of the alpha feature `ShardedListAndWatch`.
fn operations(document: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let shared = parameters(document, &item["parameters"]);
        for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
            let mut fields: Map<String, Value> = operation.as_object().unwrap().clone();
            fields.insert("parameters".to_owned(), parameters(document, &operation["parameters"]).into());
            fields.insert("shared".to_owned(), shared.clone().into());
            for types in ["consumes", "produces"] {
                let mut kept = fields.get(types).and_then(Value::as_array).cloned().unwrap_or_default();
                kept.retain(|media_type| !media_type.as_str().unwrap().contains("cbor"));
                kept.sort_by_key(Value::to_string);
                fields.insert(types.to_owned(), kept.into());
            }
            found.insert(format!("{method} {path}"), fields.into());
        }
    }
    found
}

/// Returns parameters by name, without their descriptions.
fn parameters(document: &Value, list: &Value) -> Vec<Value> {
    let whole = |parameter: &Value| match parameter["$ref"].as_str() {
        Some(name) => document["parameters"][name.rsplit('/').next().unwrap()].clone(),
        None => parameter.clone(),
    };
    let mut all: Vec<Value> = list.as_array().into_iter().flatten().map(whole).collect();
    for parameter in &mut all {
        parameter.as_object_mut().unwrap().remove("description");
    }
    all.sort_by_key(Value::to_string);
    all
}

#[tokio::test]
async fn a_second_start_on_a_directory_in_use_is_refused_and_changes_no_file() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let directory = server.directory().clone();
    let files = || {
        let mut files = Vec::new();
        for folder in [directory.path().to_owned(), directory.path().join("pki")] {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                files.push((path.clone(), std::fs::read(path).ok()));
            }
        }
        files.sort();
        files
    };
    let before = files();
    for backend in ["memory", "embedded"] {
        let second = TestServer::builder()
            .directory(&directory)
            .flag(format!("--storage-backend={backend}"))
            .flag("--service-cluster-ip-range=10.96.0.0/16")
            .start();
        let refused = second.await.err().expect("it is in use").to_string();
        assert!(refused.contains("in use by another process"), "{refused}");
    }
    assert_eq!(before, files());
    server.stop().await;
    TestServer::builder().memory().directory(&directory).start().await.unwrap();
}
