//! Discovery and OpenAPI documents of a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apiserver::handlers::ApiConfig;
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::fixture::Server;

/// Scripts search for parts of the text, kube's own among them.
#[tokio::test]
async fn fields_come_in_the_order_of_kubernetes() {
    let server = Server::start().await;
    let list = server.get("/apis/zoo.example.dev/v1").await.expect(200);
    let text = std::str::from_utf8(&list.body).unwrap();
    let start = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"zoo.example.dev/v1","resources":[{"name":"#;
    assert!(text.starts_with(start), "{text}");
    let entry = concat!(
        r#"{"name":"enclosures","singularName":"enclosure","namespaced":true,"kind":"Enclosure","verbs":["#,
        r#""create","delete","deletecollection","get","list","patch","update","watch"],"#,
        r#""shortNames":["enc"],"categories":["all"],"storageVersionHash":""#,
    );
    assert!(text.contains(entry), "{text}");
}

#[tokio::test]
async fn groups_versions_and_resources() {
    let server = Server::start().await;
    let paths = server.get("/").await.expect(200).json();
    for path in ["/api/v1", "/apis/zoo.example.dev/v1", "/healthz", "/openapi/v3"] {
        assert!(paths["paths"].as_array().unwrap().contains(&json!(path)), "{path}");
    }
    assert_eq!(server.get("/api/").await.expect(200).json()["versions"], json!(["v1"]));
    let groups = server.get("/apis").await.expect(200).json();
    assert_eq!(groups["groups"][0]["preferredVersion"]["groupVersion"], "zoo.example.dev/v1");

    let core = server.get("/api/v1").await.expect(200).json();
    assert_eq!(
        core["resources"][0],
        json!({
            "name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["cm"], "storageVersionHash": "qFsyl6wFWjQ=",
        })
    );
    let own = server.get("/apis/zoo.example.dev/v1").await.expect(200).json();
    assert_eq!(
        own["resources"][1],
        json!({
            "name": "enclosures/scale", "singularName": "", "namespaced": true,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        })
    );
    let yaml = server.get_as("/api/v1", "application/yaml").await.expect(200);
    assert!(yaml.text().contains("kind: APIResourceList\n"));
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    assert_eq!(server.get_as("/api", table).await.failure().0, 406);
}

#[tokio::test]
async fn everything_in_one_answer() {
    let server = Server::start().await;
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let answer = server.get_as("/apis", aggregated).await.expect(200);
    assert_eq!(answer.headers["content-type"], aggregated);
    let list = answer.json();
    assert_eq!(list["items"][0]["metadata"]["name"], "zoo.example.dev");
    let resource = &list["items"][0]["versions"][0]["resources"][0];
    assert_eq!(resource["responseKind"], json!({"group": "", "version": "", "kind": "Enclosure"}));
    assert_eq!(resource["subresources"][0]["responseKind"]["group"], "autoscaling");

    let again =
        Request::get("/apis").header("accept", aggregated).header("if-none-match", &answer.headers["etag"]);
    server.send(again.body(Body::empty()).unwrap()).await.expect(304);
}

#[tokio::test]
async fn documents_for_clients_that_explain_and_validate() {
    let server = Server::start().await;
    let index = server.get("/openapi/v3").await.expect(200).json();
    let url = index["paths"]["apis/zoo.example.dev/v1"]["serverRelativeURL"].as_str().unwrap();
    let answer = server.get(url).await.expect(200);
    assert!(answer.headers["cache-control"].to_str().unwrap().contains("immutable"));
    let document = answer.json();
    let patch =
        &document["paths"]["/apis/zoo.example.dev/v1/namespaces/{namespace}/enclosures/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Enclosure");
    assert!(patch["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "fieldValidation"));

    // Every reference can be resolved.
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    for accept in ["application/json", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"] {
        let get =
            |url: &str| server.send(Request::get(url).header("accept", accept).body(Body::empty()).unwrap());
        let moved = get("/openapi/v3/api/v1?hash=OLD").await.expect(301);
        let location = moved.headers["location"].to_str().unwrap();
        assert!(location.starts_with("/openapi/v3/api/v1?hash="), "{location}");
        let document = get(location).await.expect(200);
        assert_eq!(document.headers["content-type"], accept);
        assert!(document.headers["cache-control"].to_str().unwrap().contains("immutable"), "{accept}");
    }
    for (path, operation) in [
        ("version", "getCodeVersion"),
        ("api", "getCoreAPIVersions"),
        ("apis", "getAPIVersions"),
        ("apis/zoo.example.dev", "getZooExampleDevAPIGroup"),
    ] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap();
        let document = server.get(url).await.expect(200).json();
        assert_eq!(document["paths"][format!("/{path}/")]["get"]["operationId"], operation, "{document}");
        assert!(!document["components"]["schemas"].as_object().unwrap().is_empty(), "{path}");
    }
    server.get("/openapi/v3/apis/zork").await.expect(404);
    let core = server.get("/openapi/v3/api/v1").await.expect(200).json();
    let config_map = &core["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"];
    assert!(config_map["properties"]["binaryData"].is_object());
    assert!(core["components"]["schemas"]["io.k8s.api.core.v1.ConfigMapList"].is_object());
}

static IS_READ: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn requests_do_not_wait_while_a_document_is_made() {
    let descriptions = || {
        std::thread::sleep(Duration::from_millis(500));
        IS_READ.store(true, Ordering::SeqCst);
        None
    };
    let server = Server::start_with(ApiConfig { descriptions, ..ApiConfig::default() }).await;
    let other = async {
        server.get("/api/v1/namespaces").await.expect(200);
        !IS_READ.load(Ordering::SeqCst)
    };
    let (document, was_first) = tokio::join!(server.get("/openapi/v2"), other);
    document.expect(200);
    assert!(was_first, "it was answered after the document");
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference);
            }
            fields.values().for_each(|inner| collect_references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect_references(inner, found)),
        _ => {}
    }
}
