//! The documents about custom kinds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use http::Request;
use registry_core::resource::Resource as _;
use registry_core::resource::testing::prepared_later;
use serde_json::{Value, json};

use crate::fixture::{Answer, Enclosure, Server};

const DOCUMENT: &str = "/openapi/v3/apis/zoo.example.dev/v1";
const OBJECTS: &str = "/apis/zoo.example.dev/v1/namespaces/{namespace}/enclosures";
const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const PROTOBUF_V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } },
            "spec": {
                "type": "object",
                "required": ["a", "keeper"],
                "properties": {
                    "a": { "type": "string", "nullable": true, "default": "x", "enum": ["x", null, "y"] },
                    "keeper": { "type": "string", "oneOf": [{ "pattern": "a" }, { "pattern": "b" }] },
                    "port": { "x-kubernetes-int-or-string": true, "default": { "deep": [1, "two", null] } },
                },
            },
        },
    })
}

/// Starts a server with the schema, and returns the number of times that it has been read.
async fn start() -> (Server, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counter = reads.clone();
    let server = Server::start_custom(move |source| {
        let counter = counter.clone();
        let published = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Some(schema())
        };
        source.with_published(published).with_fingerprint("uid/1")
    })
    .await;
    (server, reads)
}

async fn get_with(server: &Server, url: &str, header: (&str, &str)) -> Answer {
    server.send(Request::get(url).header(header.0, header.1).body(Body::empty()).unwrap()).await
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

#[tokio::test]
async fn schemas_are_those_of_definitions() {
    let (server, _) = start().await;
    let document = server.get(DOCUMENT).await.expect(200).json();
    assert_eq!(document["info"], json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" }));
    let schemas = &document["components"]["schemas"];
    let names: Vec<&str> =
        schemas.as_object().unwrap().keys().map(|name| name.rsplit('.').next().unwrap()).collect();
    let expected = [
        "Enclosure",
        "EnclosureList",
        "Scale",
        "ScaleSpec",
        "ScaleStatus",
        "DeleteOptions",
        "FieldsV1",
        "ListMeta",
        "ManagedFieldsEntry",
        "ObjectMeta",
        "OwnerReference",
        "Patch",
        "Preconditions",
        "ShardInfo",
        "Status",
        "StatusCause",
        "StatusDetails",
        "Time",
    ];
    assert_eq!(names, expected);
    let object_meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let metadata = json!({
        "description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        "allOf": [{ "$ref": format!("#/components/schemas/{object_meta}") }],
    });
    assert_eq!(
        schemas["dev.example.zoo.v1.Enclosure"],
        json!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": text(API_VERSION),
                "kind": text(KIND),
                "metadata": metadata,
                "spec": {
                    "type": "object",
                    "required": ["a", "keeper"],
                    "properties": {
                        "a": { "type": "string", "nullable": true, "default": "x", "enum": ["x", null, "y"] },
                        "keeper": { "type": "string", "oneOf": [{ "pattern": "a" }, { "pattern": "b" }] },
                        "port": {
                            "anyOf": [{ "type": "integer" }, { "type": "string" }],
                            "x-kubernetes-int-or-string": true,
                            "default": { "deep": [1, "two", null] },
                        },
                    },
                },
            },
            "x-kubernetes-group-version-kind": [{ "group": "zoo.example.dev", "version": "v1", "kind": "Enclosure" }],
            "x-kubernetes-selectable-fields": [{ "fieldPath": "spec.keeper" }],
        })
    );
    let list = &schemas["dev.example.zoo.v1.EnclosureList"];
    assert_eq!(list["description"], "EnclosureList is a list of Enclosure");
    assert_eq!(list["required"], json!(["items"]));
    assert_eq!(
        list["properties"]["items"],
        json!({
            "description": "List of enclosures. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
            "type": "array",
            "items": { "$ref": "#/components/schemas/dev.example.zoo.v1.Enclosure" },
        })
    );
    assert_eq!(list["x-kubernetes-selectable-fields"], json!([{ "fieldPath": "spec.keeper" }]));
}

fn names(parameters: &Value) -> Vec<&str> {
    parameters.as_array().into_iter().flatten().map(|parameter| parameter["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn operations_are_those_of_custom_resources() {
    let (server, _) = start().await;
    let document = server.get(DOCUMENT).await.expect(200).json();
    let paths = document["paths"].as_object().unwrap();
    let expected = [
        "/apis/zoo.example.dev/v1/enclosures".to_owned(),
        OBJECTS.to_owned(),
        format!("{OBJECTS}/{{name}}"),
        format!("{OBJECTS}/{{name}}/scale"),
        format!("{OBJECTS}/{{name}}/status"),
    ];
    assert_eq!(paths.keys().cloned().collect::<Vec<_>>(), expected);
    let [all, collection, object, scale, status] = expected.map(|path| &paths[&path]);

    assert_eq!(all["get"]["operationId"], "listZooExampleDevV1EnclosureForAllNamespaces");
    assert_eq!(all["get"]["description"], "list objects of kind Enclosure");
    let listing = [
        "allowWatchBookmarks",
        "continue",
        "fieldSelector",
        "labelSelector",
        "limit",
        "pretty",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "shardSelector",
        "timeoutSeconds",
        "watch",
    ];
    assert_eq!(names(&all["parameters"]), listing);
    assert_eq!(names(&collection["parameters"]), ["namespace", "pretty"]);
    let without_pretty: Vec<&str> = listing.into_iter().filter(|name| *name != "pretty").collect();
    assert_eq!(names(&collection["get"]["parameters"]), without_pretty);
    assert_eq!(names(&collection["delete"]["parameters"]), without_pretty);
    assert_eq!(collection["delete"].get("requestBody"), None);
    assert_eq!(collection["delete"]["operationId"], "deleteZooExampleDevV1CollectionNamespacedEnclosure");
    assert_eq!(collection["delete"]["description"], "delete collection of Enclosure");

    let reference = |name: &str| json!({ "schema": { "$ref": format!("#/components/schemas/{name}") } });
    let own = reference("dev.example.zoo.v1.Enclosure");
    let content = json!({ "application/json": own, "application/yaml": own });
    let post = &collection["post"];
    assert_eq!(post["description"], "create an Enclosure");
    assert_eq!(post["requestBody"], json!({ "content": content, "required": true }));
    let answer = |description: &str| json!({ "description": description, "content": content });
    let unauthorized = json!({ "description": "Unauthorized" });
    assert_eq!(
        post["responses"],
        json!({ "200": answer("OK"), "201": answer("Created"), "202": answer("Accepted"), "401": unauthorized })
    );
    assert_eq!(object["patch"]["responses"], json!({ "200": answer("OK"), "401": unauthorized }));
    let patch = reference("io.k8s.apimachinery.pkg.apis.meta.v1.Patch");
    let patches = json!({
        "application/apply-patch+yaml": patch, "application/json-patch+json": patch,
        "application/merge-patch+json": patch,
    });
    assert_eq!(object["patch"]["requestBody"], json!({ "content": patches, "required": true }));
    assert_eq!(names(&object["parameters"]), ["name", "namespace", "pretty"]);
    assert_eq!(names(&object["get"]["parameters"]), ["resourceVersion"]);
    let options = reference("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    let options = json!({ "application/json": options, "application/yaml": options });
    assert_eq!(object["delete"]["requestBody"], json!({ "content": options }));
    assert_eq!(object["delete"]["tags"], json!(["zooExampleDev_v1"]));

    assert_eq!(status["put"]["description"], "replace status of the specified Enclosure");
    assert_eq!(scale["get"]["operationId"], "readZooExampleDevV1NamespacedEnclosureScale");
    assert_eq!(scale["get"]["description"], "read scale of the specified Enclosure");
    assert_eq!(scale["get"]["x-kubernetes-group-version-kind"]["kind"], "Enclosure");
    assert_eq!(scale["parameters"][0]["description"], "name of the Enclosure");
    let scale_content = &scale["get"]["responses"]["200"]["content"]["application/yaml"];
    assert_eq!(*scale_content, reference("io.k8s.api.autoscaling.v1.Scale"));
}

#[tokio::test]
async fn hashes_are_known_without_reading_schemas() {
    let (server, reads) = start().await;
    let index = server.get("/openapi/v3").await.expect(200).json();
    assert_eq!(reads.load(Ordering::Relaxed), 0);
    let url = index["paths"]["apis/zoo.example.dev/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let answer = server.get(&url).await.expect(200);
    assert!(answer.headers["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    let tag = answer.headers["etag"].to_str().unwrap().to_owned();
    assert!(url.ends_with(&format!("?hash={}", tag.trim_matches('"'))), "{url} {tag}");
    get_with(&server, &url, ("if-none-match", &tag)).await.expect(304);
    get_with(&server, DOCUMENT, ("if-none-match", &tag)).await.expect(304);
    let moved = server.get(&format!("{DOCUMENT}?hash=OLD")).await.expect(301);
    assert_eq!(moved.headers["location"], url);
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    // The document is not kept.
    server.get(DOCUMENT).await.expect(200);
    assert_eq!(reads.load(Ordering::Relaxed), 2);

    let other = Server::start_custom(|source| source.with_published(|| None).with_fingerprint("uid/2")).await;
    let index = other.get("/openapi/v3").await.expect(200).json();
    assert_ne!(index["paths"]["apis/zoo.example.dev/v1"]["serverRelativeURL"].as_str().unwrap(), url);
}

#[tokio::test]
async fn the_old_document_is_created_once_and_has_simpler_schemas() {
    let (server, reads) = start().await;
    let document = server.get("/openapi/v2").await.expect(200).json();
    let packed = get_with(&server, "/openapi/v2", ("accept-encoding", "gzip")).await.expect(200);
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    assert_eq!(document["info"]["title"], "Kubernetes");
    let own = &document["definitions"]["dev.example.zoo.v1.Enclosure"];
    assert_eq!(
        own["properties"]["spec"],
        json!({
            "type": "object",
            "required": ["keeper"],
            "properties": {
                "a": { "enum": ["x", null, "y"] },
                "keeper": { "type": "string" },
                "port": { "x-kubernetes-int-or-string": true },
            },
        })
    );
    assert_eq!(
        own["properties"]["metadata"]["$ref"],
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    let items = &document["definitions"]["dev.example.zoo.v1.EnclosureList"]["properties"]["items"]["items"];
    assert_eq!(*items, json!({ "$ref": "#/definitions/dev.example.zoo.v1.Enclosure" }));
    let paths = document["paths"].as_object().unwrap();
    assert!(!paths.contains_key("/apis/zoo.example.dev/"));
    assert!(!paths.contains_key("/apis/zoo.example.dev/v1/"));
    let types = json!(["application/json", "application/yaml"]);
    let collection = &paths[OBJECTS];
    for method in ["get", "post", "delete"] {
        let operation = &collection[method];
        assert_eq!((&operation["consumes"], &operation["produces"]), (&types, &types), "{method}");
    }
    let references = serde_json::to_string(&document).unwrap();
    for part in references.split("\"#/definitions/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(document["definitions"].get(name).is_some(), "{name}");
    }
}

#[tokio::test]
async fn protobuf_has_everything_that_schemas_can_contain() {
    let (server, _) = start().await;
    let old = server.get_as("/openapi/v2", PROTOBUF_V2).await.expect(200);
    let new = server.get_as(DOCUMENT, PROTOBUF_V3).await.expect(200);
    for body in [&old.body, &new.body] {
        for text in ["dev.example.zoo.v1.Enclosure", "x-kubernetes-int-or-string", "- fieldPath: spec.keeper"]
        {
            assert!(body.windows(text.len()).any(|part| part == text.as_bytes()), "{text}");
        }
    }
    assert_ne!(new.headers["etag"], old.headers["etag"]);
}

#[tokio::test]
async fn a_kind_without_a_structural_schema_has_no_properties() {
    let server = Server::start_custom(|source| source.with_published(|| None)).await;
    let document = server.get(DOCUMENT).await.expect(200).json();
    let expected = json!({
        "type": "object",
        "x-kubernetes-group-version-kind": [{ "group": "zoo.example.dev", "version": "v1", "kind": "Enclosure" }],
        "x-kubernetes-selectable-fields": [{ "fieldPath": "spec.keeper" }],
    });
    assert_eq!(document["components"]["schemas"]["dev.example.zoo.v1.Enclosure"], expected);
    let yaml = server.get_as(DOCUMENT, "application/yaml").await.expect(200);
    assert!(yaml.text().contains("title: Kubernetes CRD Swagger\n"));
}

#[tokio::test]
async fn discovery_lists_custom_resources_in_kubernetes_order() {
    let (server, _) = start().await;
    let own = server.get("/apis/zoo.example.dev/v1").await.expect(200).json();
    let names: Vec<&str> = own["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["enclosures", "enclosures/status", "enclosures/scale"]);
    let verbs = json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]);
    assert_eq!(own["resources"][0]["verbs"], verbs);
    assert_eq!(own["resources"][1]["verbs"], json!(["get", "patch", "update"]));
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let groups = server.get_as("/apis", aggregated).await.expect(200).json();
    let entry = &groups["items"][0]["versions"][0]["resources"][0];
    assert_eq!(entry["verbs"], verbs);
    let kind = json!({ "group": "zoo.example.dev", "version": "v1", "kind": "Enclosure" });
    assert_eq!(entry["responseKind"], kind);
    assert_eq!(
        entry["subresources"][0],
        json!({
            "subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"],
        })
    );
    assert_eq!(entry["subresources"][1]["responseKind"]["group"], "autoscaling");
}

#[tokio::test]
async fn every_request_waits_for_the_schema_to_be_compiled_elsewhere() {
    let name = json!({"metadata": {"name": "a"}, "spec": {"keeper": "b"}}).to_string();
    let path = OBJECTS.replace("{namespace}", "default");
    let object = format!("{path}/a");
    for (method, path, media_type, body) in [
        ("GET", &path, "", ""),
        ("GET", &object, "", ""),
        ("GET", &format!("{path}?watch=true"), "", ""),
        ("POST", &path, "application/json", name.as_str()),
        ("PUT", &object, "application/json", name.as_str()),
        ("PATCH", &object, "application/merge-patch+json", "{}"),
        ("DELETE", &object, "", ""),
    ] {
        let schema = prepared_later(Enclosure::TYPE.schema).with_published(|| None);
        let server = Server::start_custom(|_| schema.clone()).await;
        let request = Request::builder().method(method).uri(path).header("content-type", media_type);
        drop(server.open(request.body(Body::from(body.to_owned())).unwrap()).await);
        assert!(schema.is_prepared(), "{method} {path}");
    }
}
