//! CBOR over the API, which is disabled by default.

use std::time::Duration;

use apiserver::handlers::ApiConfig;
use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use registry_core::codec::{Limits, cbor};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixture::{Answer, Server, config_map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
const CBOR: &str = "application/cbor";

async fn start() -> Server {
    Server::start_with(ApiConfig { cbor: true, ..ApiConfig::default() }).await
}

fn enclosure(name: &str) -> Value {
    json!({"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": name}, "spec": {"keeper": "k", "replicas": 1}})
}

fn encode(value: &Value) -> Vec<u8> {
    cbor::encode(value, None).to_vec()
}

trait AnswerExt {
    fn cbor(&self) -> Value;
}

impl AnswerExt for Answer {
    fn cbor(&self) -> Value {
        assert_eq!(self.headers["content-type"], CBOR);
        assert!(self.body.starts_with(cbor::MAGIC));
        cbor::decode(&self.body, &Limits::default()).unwrap()
    }
}

/// Sends a request whose body and response are CBOR.
async fn send(server: &Server, method: Method, url: &str, media_type: &str, body: &Value) -> Answer {
    let request = Request::builder().method(method).uri(url).header("content-type", media_type);
    server.send(request.header("accept", CBOR).body(Body::from(encode(body))).unwrap()).await
}

#[tokio::test]
async fn objects_come_and_go() {
    let server = start().await;
    for (url, object) in [(MAPS, config_map("a")), (ENCLOSURES, enclosure("a"))] {
        let object_url = format!("{url}/a");
        let created = send(&server, Method::POST, url, CBOR, &object).await.expect(201).cbor();
        assert_eq!(server.get(&object_url).await.json(), created);
        assert_eq!(server.get_as(&object_url, CBOR).await.expect(200).cbor(), created);
        let listed = server.get_as(url, CBOR).await.expect(200).cbor();
        assert_eq!(listed, server.get(url).await.json());
        assert_eq!(listed["items"][0]["metadata"]["name"], "a");

        let mut changed = created.clone();
        changed["metadata"]["annotations"] = json!({"l": "ü"});
        let updated = send(&server, Method::PUT, &object_url, CBOR, &changed).await.expect(200).cbor();
        assert_eq!(updated["metadata"]["annotations"], json!({"l": "ü"}));
        let applied = json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {"name": "a", "labels": {"n": "1"}}});
        let apply = format!("{object_url}?fieldManager=m");
        let applied = send(&server, Method::PATCH, &apply, "application/apply-patch+cbor", &applied).await;
        assert_eq!(applied.expect(200).cbor()["metadata"]["labels"], json!({"n": "1"}));

        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
        let refused = send(&server, Method::DELETE, &object_url, CBOR, &options).await.expect(409).cbor();
        assert_eq!((&refused["kind"], &refused["reason"]), (&json!("Status"), &json!("Conflict")));
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        let deleted = send(&server, Method::DELETE, &object_url, CBOR, &options).await.expect(200).cbor();
        assert_eq!(deleted["status"], "Success");
    }
}

#[tokio::test]
async fn bytes_are_bytes_and_every_shape_has_cbor() {
    let server = start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "binaryData": {"b": "AAH/"}});
    // A CBOR client tags byte strings that are base64 in JSON.
    let mut marked = encode(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "binaryData": {"b": "XXX"}}),
    );
    let at = marked.windows(4).position(|four| four == b"CXXX").unwrap();
    marked.splice(at..at + 4, [0xd6, 0x43, 0, 1, 0xff]);
    let request = Request::post(MAPS).header("content-type", CBOR).body(Body::from(marked)).unwrap();
    assert_eq!(server.send(request).await.expect(201).json()["binaryData"], object["binaryData"]);
    let got = server.get_as(&format!("{MAPS}/a"), CBOR).await.expect(200);
    assert!(got.body.windows(5).any(|five| five == [0xd6, 0x43, 0, 1, 0xff]));
    assert_eq!(got.cbor()["binaryData"], object["binaryData"]);

    for shape in ["Table", "PartialObjectMetadataList"] {
        let accept = |format| format!("application/{format};as={shape};g=meta.k8s.io;v=v1");
        let list = server.get_as(MAPS, &accept("cbor")).await.expect(200).cbor();
        assert_eq!(list["kind"], shape);
        let mut as_json = server.get_as(MAPS, &accept("json")).await.expect(200).json();
        // Ages may differ by a second.
        if shape == "Table" {
            as_json["rows"][0]["cells"] = list["rows"][0]["cells"].clone();
        }
        assert_eq!(list, as_json);
    }
    let accept = "application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let partial = server.get_as(&format!("{MAPS}/a"), accept).await.expect(200).cbor();
    assert_eq!(
        (&partial["kind"], &partial["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("a"))
    );
    server.post(ENCLOSURES, &enclosure("e")).await.expect(201);
    let scale = server.get_as(&format!("{ENCLOSURES}/e/scale"), CBOR).await.expect(200).cbor();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(server.get_as("/api/v1", CBOR).await.expect(200).cbor()["kind"], "APIResourceList");
}

#[tokio::test]
async fn watches_are_sequences() {
    let server = start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    for accept in
        [CBOR, "application/cbor-seq", "application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"]
    {
        let url = format!(
            "{MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        );
        let request = Request::get(url).header("accept", accept).body(Body::empty()).unwrap();
        let response = server.open(request).await;
        assert_eq!(response.headers()["content-type"], "application/cbor-seq");
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while !bytes.windows(8).any(|eight| eight == b"BOOKMARK") {
            let piece = timeout(Duration::from_secs(10), body.frame()).await.unwrap().unwrap();
            bytes.extend_from_slice(&piece.unwrap().into_data().unwrap());
        }
        let start = [cbor::MAGIC, &[0xa2, 0x44][..], b"type"].concat();
        let second = bytes[1..].windows(start.len()).position(|part| part == start).unwrap() + 1;
        let (added, bookmark) = bytes.split_at(second);
        let added = cbor::decode(added, &Limits::default()).unwrap();
        assert_eq!((&added["type"], &added["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("a")));
        let kind = if accept.contains("Partial") { "PartialObjectMetadata" } else { "ConfigMap" };
        let bookmark = cbor::decode(bookmark, &Limits::default()).unwrap();
        assert_eq!((&bookmark["type"], &bookmark["object"]["kind"]), (&json!("BOOKMARK"), &json!(kind)));
    }
}

#[tokio::test]
async fn bad_bodies_are_refused_in_cbor() {
    let server = start().await;
    let post = |body: &[u8]| {
        let request = Request::post(format!("{MAPS}?fieldValidation=Strict"));
        let request = request.header("content-type", CBOR).header("accept", CBOR);
        server.send(request.body(Body::from(body.to_vec())).unwrap())
    };
    for (body, why) in [
        (
            &b"\xa2\x41a\x01\x41a\x02"[..],
            "unable to determine group/version/kind: cbor: found duplicate map key \"a\"",
        ),
        (b"", "unexpected EOF"),
        (b"{}", "must be of type ConfigMap"),
        (
            &encode(&json!({"metadata": {"name": "x"}, "zork": 1})),
            "strict decoding error: unknown field \"zork\"",
        ),
        (&encode(&json!({"metadata": {"name": 1}})), "cannot unmarshal number"),
    ] {
        let failure = post(body).await.expect(400).cbor();
        assert_eq!(failure["reason"], "BadRequest");
        assert!(failure["message"].as_str().unwrap().contains(why), "{failure}");
    }
    let url = format!("{MAPS}/a?fieldManager=m");
    let request = Request::patch(url).header("content-type", "application/apply-patch+cbor");
    let failure = server.send(request.body(Body::from("\u{1f}")).unwrap()).await.failure();
    assert!(failure.0 == 400 && failure.1.starts_with("error decoding CBOR: cbor: "), "{failure:?}");
}

#[tokio::test]
async fn a_server_speaks_no_cbor_unless_it_is_told_to() {
    let server = Server::start().await;
    let failure = server.get_as(MAPS, CBOR).await.failure();
    assert_eq!(failure.0, 406);
    assert!(!failure.1.contains("cbor"));
    assert_eq!(
        server.get_as(MAPS, &format!("{CBOR}, application/json;q=0.9")).await.expect(200).json()["kind"],
        "ConfigMapList"
    );
    let refused = server.write(Method::POST, MAPS, CBOR, encode(&config_map("a"))).await.failure();
    assert_eq!(refused.0, 415);
    assert!(!refused.1.contains("cbor"));
    server
        .write(Method::PATCH, &format!("{MAPS}/a"), "application/apply-patch+cbor", encode(&config_map("a")))
        .await
        .expect(415);
}
