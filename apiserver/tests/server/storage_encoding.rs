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
