//! Stores in which an older kube-apiserver left objects in versions that are not served any more.

use std::sync::Arc;

use apiserver::testing::{TestDirectory, TestServer};
use registry_core::codec::protobuf;
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::custom_resources::Client;
use crate::servers::{start, start_over};

/// An object that is stored in a retired version.
struct Stored {
    key: &'static str,
    api_version: &'static str,
    kind: &'static str,
    fields: Value,
    /// The version whose messages are those of the retired one; `None` if the object is stored as JSON.
    messages_of: Option<(&'static str, &'static str)>,
    /// The version that is served, and the path in it.
    served: &'static str,
    path: &'static str,
    /// The spec in the answer.
    spec: Value,
}

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

/// Returns objects of the bootstrap policy, of an add-on and of a user, from Kubernetes 1.13 to 1.28.
fn stored_objects() -> [Stored; 4] {
    let schema = json!({
        "priorityLevelConfiguration": { "name": "old" }, "matchingPrecedence": 500,
        "distinguisherMethod": { "type": "ByUser" },
    });
    let response = json!({ "type": "Reject" });
    let level = json!({ "type": "Limited", "limited": { "assuredConcurrencyShares": 20, "limitResponse": response } });
    let backend = json!({ "serviceName": "web", "servicePort": 80 });
    let selector = json!({ "matchLabels": { "app": "a" } });
    [
        Stored {
            key: "flowschemas/old",
            api_version: "flowcontrol.apiserver.k8s.io/v1beta3",
            kind: "FlowSchema",
            fields: schema.clone(),
            messages_of: Some((FLOW_CONTROL, "v1")),
            served: "flowcontrol.apiserver.k8s.io/v1",
            path: "flowschemas",
            spec: schema,
        },
        Stored {
            key: "prioritylevelconfigurations/old",
            api_version: "flowcontrol.apiserver.k8s.io/v1beta2",
            kind: "PriorityLevelConfiguration",
            fields: level,
            messages_of: Some((FLOW_CONTROL, "v1beta2")),
            served: "flowcontrol.apiserver.k8s.io/v1",
            path: "prioritylevelconfigurations",
            spec: json!({ "type": "Limited", "limited": {
                "nominalConcurrencyShares": 20, "lendablePercent": 0, "limitResponse": response,
            }}),
        },
        Stored {
            key: "ingress/default/old",
            api_version: "extensions/v1beta1",
            kind: "Ingress",
            fields: json!({ "backend": backend }),
            messages_of: Some(("extensions", "v1beta1")),
            served: "networking.k8s.io/v1",
            path: "namespaces/default/ingresses",
            spec: json!({ "defaultBackend": { "service": { "name": "web", "port": { "number": 80 } } } }),
        },
        Stored {
            key: "poddisruptionbudgets/default/old",
            api_version: "policy/v1beta1",
            kind: "PodDisruptionBudget",
            fields: json!({ "minAvailable": 1, "selector": selector }),
            messages_of: None,
            served: "policy/v1",
            path: "namespaces/default/poddisruptionbudgets",
            spec: json!({ "minAvailable": 1, "selector": selector }),
        },
    ]
}

// === impl Stored ===

impl Stored {
    /// Returns the value at rest.
    fn value(&self) -> Vec<u8> {
        let mut object = json!({
            "kind": self.kind, "apiVersion": self.api_version, "spec": self.fields,
            "metadata": { "name": "old", "uid": "u1", "generation": 1, "creationTimestamp": "2019-01-02T03:04:05Z" },
        });
        if self.key.contains("/default/") {
            object["metadata"]["namespace"] = "default".into();
        }
        let Some((group, version)) = self.messages_of else { return format!("{object}\n").into_bytes() };
        let schema = resources::schema::built_in(group, version, self.kind);
        schema.conform(&mut object, &mut Vec::new()).unwrap();
        protobuf::encode(&object, &schema, self.api_version, self.kind).unwrap().to_vec()
    }
}

/// Opens the store of a server that has ended.
async fn store_of(directory: &TestDirectory) -> Arc<Embedded> {
    let options = EmbeddedOptions::new(directory.path().join("storage"));
    tokio::task::spawn_blocking(move || Embedded::open(options)).await.unwrap().unwrap()
}

/// Returns the directory of a server that has ended, with more values in its store.
async fn directory_with(values: &[(String, Vec<u8>)]) -> Arc<TestDirectory> {
    let server = TestServer::builder().without_controllers().start().await.unwrap();
    let directory = server.directory().clone();
    server.stop().await;
    let store = store_of(&directory).await;
    for (key, value) in values {
        store.put_if(&format!("/registry/{key}"), 0, value.clone().into(), None).await.unwrap();
    }
    store.close().await;
    directory
}

async fn start_in(directory: &Arc<TestDirectory>) -> (TestServer, Client) {
    let server = TestServer::builder().directory(directory).without_controllers().start().await.unwrap();
    let client = Client::connect(&server).await;
    (server, client)
}

#[tokio::test]
async fn objects_of_retired_versions_are_served_and_stored_in_the_present_version_when_they_change() {
    let objects = stored_objects();
    let values: Vec<_> = objects.iter().map(|object| (object.key.to_owned(), object.value())).collect();
    let directory = directory_with(&values).await;
    // The server is ready, which needs every FlowSchema.
    let (server, mut client) = start_in(&directory).await;
    for Stored { served, path, spec, kind, .. } in &objects {
        let list = format!("/apis/{served}/{path}");
        let path = format!("{list}/old");
        let read = client.get(&path).await;
        assert_eq!((&read["apiVersion"], &read["spec"]), (&json!(served), spec), "{kind}");
        let items = client.get(&list).await["items"].as_array().unwrap().clone();
        let listed = items.iter().find(|item| item["metadata"]["name"] == "old").unwrap();
        assert_eq!(&listed["spec"], spec, "{kind}");
        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        let changed = client.expect(200, "PATCH", &path, label).await;
        assert_eq!((&changed["spec"], &changed["metadata"]["generation"]), (spec, &json!(1)), "{kind}");
    }
    server.stop().await;

    let store = store_of(&directory).await;
    for Stored { key, served, spec, .. } in &objects {
        let value = store.get(&format!("/registry/{key}")).await.unwrap().key_value.unwrap().value;
        let stored: Value = serde_json::from_slice(&value).unwrap();
        assert_eq!((&stored["apiVersion"], &stored["spec"]), (&json!(served), spec), "{key}");
    }
    store.close().await;
}

#[tokio::test]
async fn an_object_of_an_unknown_version_is_an_error_of_its_own() {
    let etcd = Etcd::start().await.unwrap();
    let engine = etcd.connect().await;
    let server = start_over(&etcd, &[]).await;
    let mut client = Client::connect(&server).await;
    let object = json!({ "kind": "CronJob", "apiVersion": "batch/v2alpha1", "metadata": { "name": "json" } });
    for (name, value) in [
        ("json", format!("{object}\n").into()),
        ("message", protobuf::envelope("batch/v2alpha1", "CronJob", &[])),
    ] {
        engine.put_if(&format!("/registry/cronjobs/default/{name}"), 0, value, None).await.unwrap();
    }
    let list = "/apis/batch/v1/namespaces/default/cronjobs";
    for path in [list.to_owned(), format!("{list}/json"), format!("{list}/message")] {
        let answer = client.send("GET", &path, &Value::Null).await;
        let reason = "no kind \\\"CronJob\\\" is registered for version \\\"batch/v2alpha1\\\"";
        assert!(answer.status == 500 && answer.text().contains(reason), "{path}: {}", answer.text());
    }
    client.get("/apis/batch/v1/namespaces/default/jobs").await;
    assert_eq!(client.send("GET", "/readyz", &Value::Null).await.text(), "ok");
}

/// A field without `omitempty` is null while its feature is disabled.
#[tokio::test]
async fn a_workload_that_is_put_as_it_is_does_not_change() {
    let enabled =
        ["--runtime-config=scheduling.k8s.io/v1alpha2=true", "--feature-gates=GenericWorkload=true"];
    for media_type in ["application/json", "application/vnd.kubernetes.protobuf"] {
        let encoding = format!("--storage-media-type={media_type}");
        let server = start(&[enabled[0], enabled[1], &encoding]).await;
        let mut client = Client::connect(&server).await;
        let list = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads";
        for (name, constraints) in
            [("plain", Value::Null), ("dropped", json!({ "topology": [{ "key": "rack" }] }))]
        {
            let template = json!({
                "name": "g", "schedulingPolicy": { "gang": { "minCount": 2 } }, "schedulingConstraints": constraints,
            });
            let workload =
                json!({ "metadata": { "name": name }, "spec": { "podGroupTemplates": [template] } });
            let created = client.expect(201, "POST", list, workload.clone()).await;
            let shown = created["spec"]["podGroupTemplates"][0].as_object().unwrap();
            assert_eq!(shown.get("schedulingConstraints"), Some(&Value::Null), "{created}");
            let path = format!("{list}/{name}");
            assert_eq!(client.get(&path).await, created, "{encoding}");
            for again in [created.clone(), workload] {
                let put = client.expect(200, "PUT", &path, again).await;
                assert_eq!(put, created, "{encoding}");
            }
        }
        server.stop().await;
    }
}
