//! Custom structs in protobuf, for clients that prefer it; the field numbers are in `src/generated/field_numbers.lock`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use apiserver::testing::TestServer;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::client::Body;
use registry_core::Resource as _;
use registry_core::codec::{Limits, protobuf};
use serde_json::{Value, json};
use zoo::zoo::enclosure::Enclosure;

const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

async fn client(server: &TestServer) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(server.kubeconfig_path()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// Returns the body of the response, whose content type must be the requested one.
async fn send(
    client: &kube::Client,
    request: http::request::Builder,
    accept: &str,
    body: Vec<u8>,
) -> Vec<u8> {
    let request: Request<Body> = request.header(ACCEPT, accept).body(body.into()).unwrap();
    let response = client.send(request).await.unwrap();
    assert!(response.status().is_success(), "{}", response.status());
    assert_eq!(response.headers()[CONTENT_TYPE], accept);
    response.into_body().collect_bytes().await.unwrap().to_vec()
}

fn decoded(message: &[u8]) -> Value {
    let schema = (Enclosure::TYPE.schema)();
    let table = schema.table();
    protobuf::decode(message, &Limits::default(), |version, kind| table.schema_of(version, kind)).unwrap()
}

#[tokio::test]
async fn an_enclosure_is_the_same_in_json_and_protobuf() {
    let server = TestServer::builder().storage_map(&zoo::STORAGE_MAP).start().await.unwrap();
    let client = client(&server).await;
    let north = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
        "metadata": {"name": "north", "labels": {"climate": "cold"}},
        "spec": {"species": "penguin", "animals": 0, "keeper": "ada"},
    });
    let message =
        protobuf::encode(&north, &(Enclosure::TYPE.schema)(), "zoo.example.dev/v1", "Enclosure").unwrap();
    let create = Request::post(ENCLOSURES).header(CONTENT_TYPE, PROTOBUF);
    let created = decoded(&send(&client, create, PROTOBUF, message.to_vec()).await);
    assert_eq!(created["spec"], north["spec"]);

    let path = format!("{ENCLOSURES}/north");
    let as_json = send(&client, Request::get(&path), "application/json", Vec::new()).await;
    let as_json: Value = serde_json::from_slice(&as_json).unwrap();
    assert_eq!(as_json["spec"], north["spec"]);
    assert_eq!(as_json["metadata"]["labels"], north["metadata"]["labels"]);
    let as_protobuf = decoded(&send(&client, Request::get(&path), PROTOBUF, Vec::new()).await);
    assert_eq!(as_protobuf, as_json);
    server.stop().await;
}
