//! The encodings of stored objects: `--storage-media-type`, and CBOR of custom resources.

use std::sync::Arc;

use apiserver::testing::TestServer;
use registry_core::codec::{cbor, protobuf};
use registry_core::storage::etcd3::Etcd3;
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::custom_resources::Client;
use crate::servers::{refusal, start_over};

const PROTOBUF: &str = "--storage-media-type=application/vnd.kubernetes.protobuf";
const CBOR: &str = "--feature-gates=CBORServingAndStorage=true";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Returns the value of a key.
async fn stored(engine: &Arc<Etcd3>, key: &str) -> Vec<u8> {
    engine.get(&format!("/registry/{key}")).await.unwrap().key_value.expect(key).value.to_vec()
}

fn is_json(value: &[u8]) -> bool {
    serde_json::from_slice::<Value>(value).is_ok()
}

fn definition() -> Value {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
            ],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name },
        "spec": { "text": "ä\n", "count": 3, "ratio": 1.5, "none": null, "list": [1, "2", {}] },
    })
}

async fn connect(etcd: &Etcd, flags: &[&str]) -> (TestServer, Client) {
    let server = start_over(etcd, flags).await;
    let client = Client::connect(&server).await;
    (server, client)
}

#[tokio::test]
async fn built_in_kinds_are_stored_as_protobuf_and_others_as_json() {
    let etcd = Etcd::start().await.unwrap();
    let engine = etcd.connect().await;
    let (server, mut client) = connect(&etcd, &[PROTOBUF]).await;
    let map = json!({ "metadata": { "name": "a" }, "data": { "k": "v" }, "binaryData": { "b": "AAEC" } });
    let created = client.expect(201, "POST", CONFIG_MAPS, map).await;
    let value = stored(&engine, "configmaps/default/a").await;
    let envelope = protobuf::Envelope::parse(&value).unwrap();
    assert_eq!((envelope.api_version, envelope.kind), ("v1", "ConfigMap"));
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await, created);
    assert_eq!(client.get(CONFIG_MAPS).await["items"][0]["data"]["k"], "v");
    assert!(
        stored(&engine, "namespaces/default").await.starts_with(protobuf::MAGIC),
        "the server's own objects"
    );
    client.define(definition()).await;
    client.expect(201, "POST", WIDGETS, widget("a")).await;
    for key in [
        "apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
        "apiregistration.k8s.io/apiservices/v1.apps",
        "example.com/widgets/default/a",
    ] {
        assert!(is_json(&stored(&engine, key).await), "{key}");
    }
    server.stop().await;

    // A server without the flag reads both, and stores JSON again.
    let (_server, mut client) = connect(&etcd, &[]).await;
    let path = format!("{CONFIG_MAPS}/a");
    assert_eq!(client.get(&path).await, created);
    client
        .apply(
            &format!("{path}?fieldManager=test"),
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "n": "m" } }),
        )
        .await;
    assert!(is_json(&stored(&engine, "configmaps/default/a").await));
    assert_eq!(client.get(&path).await["binaryData"]["b"], "AAEC");
}

#[tokio::test]
async fn a_stateful_set_that_is_stored_as_protobuf_can_be_changed() {
    let etcd = Etcd::start().await.unwrap();
    let (_server, mut client) = connect(&etcd, &[PROTOBUF]).await;
    let claim = json!({
        "metadata": { "name": "v" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let set = json!({
        "metadata": { "name": "a" },
        "spec": {
            "serviceName": "a", "selector": { "matchLabels": { "a": "b" } }, "volumeClaimTemplates": [claim],
            "template": {
                "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    });
    let created = client.expect(201, "POST", STATEFUL_SETS, set).await;
    let path = format!("{STATEFUL_SETS}/a");
    let read = client.get(&path).await;
    assert_eq!(read, created);
    assert_eq!(read["spec"]["volumeClaimTemplates"][0]["kind"], "PersistentVolumeClaim");
    let labelled = client.expect(200, "PATCH", &path, label()).await;
    assert_eq!((&labelled["spec"], &labelled["metadata"]["generation"]), (&read["spec"], &json!(1)));
}

fn label() -> Value {
    json!({ "metadata": { "labels": { "z": "1" } } })
}

/// An object as an earlier kube-apiserver stored it as JSON, and a default that it lacks.
struct Earlier {
    api: &'static str,
    resource: &'static str,
    object: Value,
    field: &'static str,
    default: Value,
}

/// Objects of Kubernetes 1.20.
fn earlier_objects() -> [Earlier; 3] {
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i:1" }] });
    let labels = json!({ "controller-uid": "u1", "job-name": "old" });
    let job = json!({
        "kind": "Job", "apiVersion": "batch/v1",
        "spec": {
            "parallelism": 1, "completions": 1, "backoffLimit": 6,
            "selector": { "matchLabels": { "controller-uid": "u1" } },
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    });
    let claim = json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "status": { "phase": "Pending" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let labels = json!({ "a": "b" });
    let containers = json!({ "containers": [{ "name": "c", "image": "i:1" }] });
    let deployment = json!({
        "kind": "Deployment", "apiVersion": "apps/v1",
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": containers },
        },
    });
    let earlier = |api, resource, object, field, default: &str| {
        let default = default.into();
        Earlier { api, resource, object, field, default }
    };
    [
        earlier("apis/batch/v1", "jobs", job, "completionMode", "NonIndexed"),
        earlier("api/v1", "persistentvolumeclaims", claim, "volumeMode", "Filesystem"),
        earlier("apis/apps/v1", "deployments", deployment, "strategy", "RollingUpdate"),
    ]
}

#[tokio::test]
async fn objects_that_another_server_stored_have_newer_defaults_and_can_be_changed() {
    let etcd = Etcd::start().await.unwrap();
    let engine = etcd.connect().await;
    let earlier = earlier_objects();
    for Earlier { resource, object, .. } in &earlier {
        let mut object = object.clone();
        object["metadata"] = json!({ "name": "old", "namespace": "default", "uid": "u1", "generation": 1 });
        let as_go = format!("{object}\n").into_bytes();
        engine.put_if(&format!("/registry/{resource}/default/old"), 0, as_go.into(), None).await.unwrap();
    }
    let (_server, mut client) = connect(&etcd, &[]).await;
    for Earlier { api, resource, field, default, .. } in &earlier {
        let list = format!("/{api}/namespaces/default/{resource}");
        let spec = client.get(&list).await["items"][0]["spec"].clone();
        let found = &spec[field];
        assert!(found == default || found["type"] == *default, "{resource}: {spec}");
        let path = format!("{list}/old");
        assert_eq!(client.get(&path).await["spec"], spec);
        let labelled = client.expect(200, "PATCH", &path, label()).await;
        assert_eq!((&labelled["spec"], &labelled["metadata"]["generation"]), (&spec, &json!(1)));
    }
}

#[tokio::test]
async fn an_object_is_stored_that_fits_as_protobuf_only() {
    // Each is one byte in protobuf, and two in JSON.
    let quotes = "\"".repeat(1_000_000);
    let map = json!({ "metadata": { "name": "quotes" }, "data": { "q": quotes } });
    let etcd = Etcd::start().await.unwrap();
    let (server, mut client) = connect(&etcd, &[]).await;
    let refused = client.send("POST", CONFIG_MAPS, &map).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    server.stop().await;
    let (_server, mut client) = connect(&etcd, &[PROTOBUF]).await;
    client.expect(201, "POST", CONFIG_MAPS, map).await;
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/quotes")).await["data"]["q"], quotes);
}

#[tokio::test]
async fn custom_resources_are_stored_as_cbor_with_its_feature() {
    let etcd = Etcd::start().await.unwrap();
    let engine = etcd.connect().await;
    let (server, mut client) = connect(&etcd, &[]).await;
    client.define(definition()).await;
    client.expect(201, "POST", WIDGETS, widget("json")).await;
    server.stop().await;

    let (server, mut client) = connect(&etcd, &[CBOR]).await;
    client.until(WIDGETS, |list| list["items"].as_array().is_some_and(|items| items.len() == 1)).await;
    let created = client.expect(201, "POST", WIDGETS, widget("cbor")).await;
    let value = stored(&engine, "example.com/widgets/default/cbor").await;
    assert!(value.starts_with(cbor::MAGIC));
    assert_eq!(client.get(&format!("{WIDGETS}/cbor")).await, created);
    assert!(is_json(&stored(&engine, "example.com/widgets/default/json").await), "it was not written");
    assert!(is_json(&stored(&engine, "namespaces/default").await), "only custom resources");
    let damaged = [&value[..], &[0]].concat();
    for (name, bytes) in
        [("cut", &value[..20]), ("damaged", &damaged), ("list", &[0xd9, 0xd9, 0xf7, 0x80][..])]
    {
        let key = format!("/registry/example.com/widgets/default/{name}");
        engine.put_if(&key, 0, bytes.to_vec().into(), None).await.unwrap();
        let answer = client.send("GET", &format!("{WIDGETS}/{name}"), &Value::Null).await;
        assert!(answer.status >= 400, "{name}: {}", answer.text());
    }
    server.stop().await;

    let (_server, mut client) = connect(&etcd, &[]).await;
    let read = client.until(&format!("{WIDGETS}/cbor"), |found| found["kind"] == "Widget").await;
    assert_eq!(read, created);
    assert_eq!(client.get(&format!("{WIDGETS}/json")).await["spec"], created["spec"]);
}

#[tokio::test]
async fn other_media_types_are_refused_by_name() {
    for (given, reason) in [
        (
            "application/cbor",
            "--storage-media-type \"application/cbor\" invalid, allowed values: application/json, ",
        ),
        ("application/yaml", "objects are not stored as YAML"),
        ("json", "--storage-media-type \"json\" invalid"),
        ("application/json;q=1", "invalid, allowed values"),
    ] {
        let error = refusal(&[&format!("--storage-media-type={given}")]).await;
        assert!(error.contains(reason), "{error}");
    }
}
