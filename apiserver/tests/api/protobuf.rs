//! Kubernetes' protobuf over the API, which client-go uses for built-in kinds.

use std::sync::Arc;
use std::time::Duration;

use apiserver::handlers::ApiConfig;
use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use registry_core::codec::Limits;
use registry_core::codec::protobuf::{self, Envelope};
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::EncodingBudget;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixture::{Answer, Server, config_map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn schema(api_version: &str, kind: &str) -> Schema {
    let schema = resources::schema::built_in("", "v1", "ConfigMap");
    let core = schema.table();
    let found = core.schema_of(api_version, kind).or_else(|| TypeTable::meta().schema_of(api_version, kind));
    found.unwrap_or_else(|| panic!("{api_version} {kind}"))
}

fn encode(object: &Value) -> Vec<u8> {
    let api_version = object["apiVersion"].as_str().unwrap();
    let kind = object["kind"].as_str().unwrap();
    protobuf::encode(object, &schema(api_version, kind), api_version, kind).unwrap().to_vec()
}

fn decode(bytes: &[u8]) -> Value {
    protobuf::decode(bytes, &Limits::default(), |version, kind| Some(schema(version, kind))).unwrap()
}

trait AnswerExt {
    fn protobuf(&self) -> Value;
}

impl AnswerExt for Answer {
    fn protobuf(&self) -> Value {
        assert_eq!(self.headers["content-type"], PROTOBUF);
        decode(&self.body)
    }
}

async fn post(server: &Server, url: &str, object: &Value) -> Answer {
    server.write(Method::POST, url, PROTOBUF, encode(object)).await
}

#[tokio::test]
async fn objects_come_and_go() {
    let server = Server::start().await;
    let created = post(&server, MAPS, &config_map("a")).await.expect(201).json();
    assert_eq!(created["data"], json!({"k": "v"}));
    let got = server.get_as(&format!("{MAPS}/a"), PROTOBUF).await.expect(200).protobuf();
    assert_eq!(got, created);
    let updated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": got["metadata"], "binaryData": {"b": "AAE="}});
    let answer = server.write(Method::PUT, &format!("{MAPS}/a"), PROTOBUF, encode(&updated)).await;
    assert_eq!(answer.expect(200).json()["binaryData"], json!({"b": "AAE="}));

    post(&server, MAPS, &config_map("b")).await.expect(201);
    let list = server.get_as(&format!("{MAPS}?limit=1"), PROTOBUF).await.expect(200).protobuf();
    let as_json = server.get(&format!("{MAPS}?limit=1")).await.json();
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"], as_json["items"]);
    assert_eq!(list["metadata"], as_json["metadata"]);

    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let request = |body| {
        let request = Request::delete(format!("{MAPS}/a")).header("content-type", PROTOBUF);
        request.header("accept", PROTOBUF).body(Body::from(body)).unwrap()
    };
    let refused = server.send(request(encode(&options))).await.expect(409).protobuf();
    assert_eq!((&refused["kind"], &refused["reason"]), (&json!("Status"), &json!("Conflict")));
    let deleted = server.send(request(Vec::new())).await.expect(200).protobuf();
    assert_eq!(deleted["status"], "Success");
    let missing = server.get_as(&format!("{MAPS}/a"), PROTOBUF).await.expect(404).protobuf();
    assert_eq!(missing["details"]["kind"], "configmaps");
}

#[tokio::test]
async fn an_object_is_encoded_once_for_all_who_ask() {
    let encodings = Arc::new(EncodingBudget::new(1 << 20));
    let config = ApiConfig { cbor: true, encodings: encodings.clone(), ..ApiConfig::default() };
    let server = Server::start_with(config).await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    let partial = |format, kind| format!("{format};as={kind};g=meta.k8s.io;v=v1");
    for format in [PROTOBUF, "application/cbor"] {
        for (object_type, all) in [
            (format.to_owned(), format.to_owned()),
            (partial(format, "PartialObjectMetadata"), partial(format, "PartialObjectMetadataList")),
        ] {
            let before = encodings.used_bytes();
            server.get_as(&format!("{MAPS}/a"), &object_type).await.expect(200);
            let made = encodings.used_bytes();
            assert!(made > before, "{object_type}");
            for _ in 0..3 {
                server.get_as(&format!("{MAPS}/a"), &object_type).await.expect(200);
                server.get_as(MAPS, &all).await.expect(200);
                let watch = Request::get(format!("{MAPS}?watch=1")).header("accept", &object_type);
                let mut events = server.open(watch.body(Body::empty()).unwrap()).await.into_body();
                timeout(Duration::from_secs(10), events.frame()).await.unwrap().unwrap().unwrap();
            }
            assert_eq!(encodings.used_bytes(), made, "{object_type}");
        }
    }
}

#[tokio::test]
async fn metadata_alone_has_protobuf_for_every_kind() {
    let server = Server::start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    let enclosure = json!({"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": "e"}, "spec": {"keeper": "k"}});
    server.post(ENCLOSURES, &enclosure).await.expect(201);
    for (url, name) in [(MAPS, "a"), (ENCLOSURES, "e")] {
        let accept = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        let partial = server.get_as(&format!("{url}/{name}"), &accept).await.expect(200).protobuf();
        assert_eq!(partial["kind"], "PartialObjectMetadata");
        assert_eq!(partial["metadata"]["name"], name);
        let accept = format!("{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
        let list = server.get_as(url, &accept).await.expect(200).protobuf();
        assert_eq!(list["kind"], "PartialObjectMetadataList");
        assert_eq!(list["items"][0]["metadata"], partial["metadata"]);
    }
}

/// client-go's typed clients update a scale in their configured format, whatever the format of its object.
#[tokio::test]
async fn a_scale_is_read_and_written() {
    let server = Server::start().await;
    let enclosure = json!({"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": "e"}, "spec": {"keeper": "k", "replicas": 2}});
    server.post(ENCLOSURES, &enclosure).await.expect(201);
    let url = format!("{ENCLOSURES}/e/scale");
    let mut scale = server.get_as(&url, PROTOBUF).await.expect(200).protobuf();
    assert_eq!(scale, server.get(&url).await.expect(200).json());
    scale["spec"]["replicas"] = json!(7);
    let updated = server.write(Method::PUT, &url, PROTOBUF, encode(&scale)).await.expect(200).json();
    assert_eq!(updated["spec"]["replicas"], 7);
    // Protobuf omits zero values.
    scale["spec"]["replicas"] = json!(0);
    scale["metadata"]["resourceVersion"] = updated["metadata"]["resourceVersion"].clone();
    server.write(Method::PUT, &url, PROTOBUF, encode(&scale)).await.expect(200);
    assert_eq!(server.get(&format!("{ENCLOSURES}/e")).await.json()["spec"]["replicas"], 0);
}

#[tokio::test]
async fn answers_without_protobuf_are_given_as_text() {
    let server = Server::start().await;
    let enclosure = json!({"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": "e"}, "spec": {"keeper": "k"}});
    server.post(ENCLOSURES, &enclosure).await.expect(201);
    let fallback = server.get_as(ENCLOSURES, &format!("{PROTOBUF},application/json")).await.expect(200);
    assert_eq!(fallback.json()["items"][0]["spec"]["keeper"], "k");
    server.get_as(ENCLOSURES, PROTOBUF).await.expect(406);
    let body = protobuf::envelope("zoo.example.dev/v1", "Enclosure", b"");
    server.write(Method::POST, ENCLOSURES, PROTOBUF, body).await.expect(415);
    let table =
        format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(server.get_as(MAPS, &table).await.expect(200).json()["kind"], "Table");
}

#[tokio::test]
async fn bad_bodies_are_refused() {
    let server = Server::start().await;
    let garbage = server.write(Method::POST, MAPS, PROTOBUF, "garbage").await;
    assert_eq!(
        garbage.failure(),
        (400, "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (67617262616765)".to_owned())
    );
    let cut = protobuf::envelope("v1", "ConfigMap", &[0x0a, 9]);
    let cut = server.write(Method::POST, MAPS, PROTOBUF, cut).await;
    let expected = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF";
    assert_eq!(cut.failure(), (400, expected.to_owned()));
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}});
    assert_eq!(post(&server, MAPS, &other).await.failure().0, 400);
}

#[tokio::test]
async fn watches_are_frames_of_messages() {
    let server = Server::start().await;
    post(&server, MAPS, &config_map("a")).await.expect(201);
    let url = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    );
    let accept = format!("{PROTOBUF};stream=watch");
    let request = Request::get(url).header("accept", PROTOBUF).body(Body::empty()).unwrap();
    let response = server.open(request).await;
    assert_eq!(response.headers()["content-type"], *accept);
    let mut body = response.into_body();
    let mut pending = Vec::new();
    let mut events = Vec::new();
    while events.len() < 2 {
        let piece = timeout(Duration::from_secs(10), body.frame()).await.unwrap().unwrap();
        pending.extend_from_slice(&piece.unwrap().into_data().unwrap());
        while let Some((len, rest)) = pending.split_first_chunk::<4>() {
            let len = u32::from_be_bytes(*len) as usize;
            events.push(event(&rest[..len]));
            pending.drain(..4 + len);
        }
    }
    assert_eq!((events[0].0.as_str(), &events[0].1["metadata"]["name"]), ("ADDED", &json!("a")));
    assert_eq!((events[1].0.as_str(), &events[1].1["kind"]), ("BOOKMARK", &json!("ConfigMap")));
    assert_eq!(events[1].1["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

/// Returns the type of a `WatchEvent`, and the object in its envelope.
fn event(frame: &[u8]) -> (String, Value) {
    let kind_len = usize::from(frame[1]);
    let (kind, rest) = frame[2..].split_at(kind_len);
    let start = rest.windows(4).position(|four| four == protobuf::MAGIC).unwrap();
    let envelope = &rest[start..];
    assert!(!Envelope::parse(envelope).unwrap().kind.is_empty());
    (String::from_utf8(kind.to_vec()).unwrap(), decode(envelope))
}
