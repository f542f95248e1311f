//! Decoders, field validation, patches, managers and responses.

use http::Method;
use registry_core::codec::{cbor, protobuf};
use serde_json::{Map, Value, json};

use super::cost::{Findings, thread_time};
use super::fixture::{Answer, Server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Size of the smaller body.
const BYTES: usize = 32 * 1024;

/// Returns a body of repeated, numbered pieces.
fn repeated(before: &str, piece: impl Fn(usize) -> String, after: &str, bytes: usize) -> String {
    let mut text = before.to_owned();
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&piece(number));
        number += 1;
    }
    text.truncate(text.trim_end_matches(',').len());
    text + after
}

/// Returns a body of which half is one key, and the other half many fields below it.
fn below_a_long_key(before: &str, after: &str, bytes: usize) -> String {
    let key = "k".repeat(bytes / 2);
    let before = format!("{before}\"{key}\":{{");
    repeated(&before, |number| format!("\"f{number:06}\":1,"), &format!("}}{after}"), bytes)
}

fn nested_below_long_keys(bytes: usize) -> String {
    const DEPTH: usize = 100;
    let key = "k".repeat(bytes / 2 / DEPTH);
    let before = format!("{{{}", format!("\"{key}\":{{").repeat(DEPTH));
    repeated(&before, |number| format!("\"f{}\":1,", number % 50), &"}".repeat(DEPTH + 1), bytes)
}

type Generator = (&'static str, fn(usize) -> String);

/// Bodies in JSON that are the most expensive for a decoder, or for field validation.
const JSON: [Generator; 9] = [
    ("unknown fields", |bytes| repeated("{", |number| format!("\"f{number:06}\":1,"), "}", bytes)),
    ("one field again and again", |bytes| repeated("{", |_| "\"f\":1,".to_owned(), "}", bytes)),
    ("each field twice", |bytes| repeated("{", |number| format!("\"f{:06}\":1,", number / 2), "}", bytes)),
    ("objects that grow together", |bytes| {
        repeated("{\"data\":{}", |number| format!(",\"data\":{{\"k{number}\":\"\"}}"), "}", bytes)
    }),
    ("fields below a long key", |bytes| below_a_long_key("{", "}", bytes)),
    ("fields below many long keys", nested_below_long_keys),
    ("escapes", |bytes| repeated("{\"data\":{\"k\":\"", |_| "\\u00e9".to_owned(), "\"}}", bytes)),
    ("empty lists", |bytes| repeated("{\"data\":[", |_| "[],".to_owned(), "]}", bytes)),
    ("long numbers", |bytes| repeated("{\"data\":1", |_| "1".to_owned(), "}", bytes)),
];

/// Bodies that only YAML can express. Refusals are linear, too.
const YAML: [Generator; 5] = [
    ("lines", |bytes| repeated("", |number| format!("f{number}: 1\n"), "", bytes)),
    ("anchors", |bytes| repeated("", |number| format!("f{number}: &a{number} 1\n"), "", bytes)),
    ("aliases", |bytes| repeated("a: &a {b: c}\n", |number| format!("f{number}: *a\n"), "", bytes)),
    ("merges", |bytes| repeated("a: &a {b: c}\nd:\n", |_| "  <<: *a\n".to_owned(), "", bytes)),
    ("open brackets", |bytes| "[".repeat(bytes)),
];

fn cost(body: &[u8], answer: &Answer) -> (usize, std::time::Duration) {
    (body.len(), answer.time)
}

#[test]
fn decoding_takes_linear_time() {
    let server = Server::start();
    let mut findings = Findings::default();
    for validation in ["Strict", "Warn", "Ignore"] {
        let url = format!("{CONFIG_MAPS}?dryRun=All&fieldValidation={validation}");
        let all = JSON.into_iter().flat_map(|generator| [("json", generator), ("yaml", generator)]);
        for (format, (name, generate)) in all.chain(YAML.map(|generator| ("yaml", generator))) {
            let post = &mut |bytes: usize| {
                let body = generate(bytes);
                let media_type = format!("application/{format}");
                cost(body.as_bytes(), &server.write(Method::POST, &url, &media_type, body.clone()))
            };
            findings.compare(format!("{name} as {format}, {validation}"), BYTES, post);
        }
    }
    findings.expect_none();
}

#[test]
fn decoding_binary_formats_takes_linear_time() {
    let server = Server::start();
    let mut findings = Findings::default();
    let url = format!("{CONFIG_MAPS}?dryRun=All");
    let schema = server.installed.paths.iter().find(|path| path.resource.plural == "configmaps").unwrap();
    let schema = schema.capabilities.storage.schema();
    let data = |bytes: usize| {
        let data: Map<String, Value> =
            (0..bytes / 12).map(|number| (format!("k{number}"), "".into())).collect();
        json!({"metadata": {"name": "a"}, "data": data})
    };
    findings.compare("protobuf", BYTES, &mut |bytes| {
        let body = protobuf::encode(&data(bytes), &schema, "v1", "ConfigMap").unwrap();
        cost(&body, &server.write(Method::POST, &url, "application/vnd.kubernetes.protobuf", body.clone()))
    });
    findings.compare("parts of one struct in protobuf", BYTES, &mut |bytes| {
        // An empty `metadata` (field 1), repeated: each is merged into the previous one.
        let body = protobuf::envelope("v1", "ConfigMap", &[0x0a, 0x00].repeat(bytes / 2));
        cost(&body, &server.write(Method::POST, &url, "application/vnd.kubernetes.protobuf", body.clone()))
    });
    findings.compare("CBOR", BYTES, &mut |bytes| {
        let body = cbor::encode(&data(bytes), None);
        cost(&body, &server.write(Method::POST, &url, "application/cbor", body.clone()))
    });
    findings.compare("open lists in CBOR", BYTES, &mut |bytes| {
        let body = vec![0x9f; bytes];
        cost(&body, &server.write(Method::POST, &url, "application/cbor", body.clone()))
    });
    findings.expect_none();
}

/// Returns a patch for a list of this number of bytes; the object has one of the same size.
type PatchGenerator = fn(usize) -> Value;

fn owners(bytes: usize, step: usize) -> Vec<Value> {
    let owner = |number: usize| {
        let name = format!("o{}", number * step);
        json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name})
    };
    (0..bytes / 64).map(owner).collect()
}

fn operations(bytes: usize, operation: &Value) -> Value {
    Value::Array(vec![operation.clone(); (bytes / 64).min(10_000)])
}

const PATCHES: [(&str, &str, PatchGenerator); 8] = [
    ("json-patch+json", "insert at the front", |bytes| {
        operations(bytes, &json!({"op": "add", "path": "/metadata/finalizers/0", "value": "a/b"}))
    }),
    ("json-patch+json", "copies of all", |bytes| {
        operations(bytes, &json!({"op": "copy", "from": "/metadata", "path": "/data"}))
    }),
    ("json-patch+json", "moves between ends", |bytes| {
        operations(
            bytes,
            &json!({"op": "move", "from": "/metadata/ownerReferences/0", "path": "/metadata/ownerReferences/-"}),
        )
    }),
    ("merge-patch+json", "another list", |bytes| json!({"metadata": {"ownerReferences": owners(bytes, 2)}})),
    (
        "strategic-merge-patch+json",
        "a list merged",
        |bytes| json!({"metadata": {"ownerReferences": owners(bytes, 2)}}),
    ),
    ("strategic-merge-patch+json", "an order of elements", |bytes| {
        json!({"metadata": {
            "ownerReferences": owners(bytes, 2),
            "$setElementOrder/ownerReferences": owners(bytes, 2),
        }})
    }),
    ("strategic-merge-patch+json", "deletions", |bytes| {
        let deletions: Vec<String> = (0..bytes / 10).map(|number| format!("e/f{number}")).collect();
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": deletions}})
    }),
    (
        "apply-patch+yaml",
        "a list applied",
        |bytes| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p", "ownerReferences": owners(bytes, 2)}}),
    ),
];

#[test]
fn patches_take_linear_time() {
    let mut findings = Findings::default();
    for (kind, name, generate) in PATCHES {
        findings.compare(format!("{kind}: {name}"), BYTES / 2, &mut |bytes| {
            let server = Server::start();
            let finalizers: Vec<String> = (0..bytes / 20).map(|number| format!("e/f{number}")).collect();
            let metadata =
                json!({"name": "p", "ownerReferences": owners(bytes, 1), "finalizers": finalizers});
            let object = json!({"metadata": metadata}).to_string();
            assert_eq!(server.post(CONFIG_MAPS, object).status, 201);
            let body = generate(bytes).to_string();
            let url = format!("{CONFIG_MAPS}/p?fieldManager=m");
            let answer = server.write(Method::PATCH, &url, &format!("application/{kind}"), body.clone());
            (body.len() + bytes, answer.time)
        });
    }
    findings.expect_none();
}

/// Returns an object with many managers that own fields.
fn with_managers(bytes: usize, operation: &str, is_same: bool) -> Value {
    let manager = |number: usize| {
        let name = if is_same { "m".to_owned() } else { format!("m{number}") };
        let key = format!("f:k{number}");
        json!({"manager": name, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
               "fieldsV1": {"f:data": {key: {}}}})
    };
    let managers: Vec<Value> = (0..bytes / 120).map(manager).collect();
    let data: Map<String, Value> = (0..bytes / 120).map(|number| (format!("k{number}"), "".into())).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"name": "p", "managedFields": managers}, "data": data})
}

#[test]
fn managers_take_linear_time() {
    let mut findings = Findings::default();
    for (operation, is_same) in [("Apply", false), ("Update", false), ("Apply", true)] {
        findings.compare(format!("{operation} managers, the same: {is_same}"), BYTES, &mut |bytes| {
            let server = Server::start();
            let object = with_managers(bytes, operation, is_same);
            let created = server.post(CONFIG_MAPS, object.to_string());
            assert_eq!(created.status, 201);
            let mut present = created.json();
            present["data"] = json!({});
            let update = present.to_string();
            let url = format!("{CONFIG_MAPS}/p");
            let updated = server.write(Method::PUT, &url, "application/json", update.clone());
            assert_eq!(updated.status, 200);
            let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"},
                                 "data": object["data"]})
            .to_string();
            let url = format!("{url}?fieldManager=m1&force=true");
            let once = server.write(Method::PATCH, &url, "application/apply-patch+yaml", applied);
            let nothing = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p"}}"#;
            let twice = server.write(Method::PATCH, &url, "application/apply-patch+yaml", nothing);
            assert_eq!((once.status.as_u16(), twice.status.as_u16()), (200, 200));
            (2 * bytes, created.time + updated.time + once.time + twice.time)
        });
    }
    findings.expect_none();
}

#[test]
fn selectors_and_answers_take_linear_time() {
    let mut findings = Findings::default();
    let server = Server::start();
    for name in ["a", "b"] {
        server.post(CONFIG_MAPS, json!({"metadata": {"name": name, "labels": {"x": "y"}}}).to_string());
    }
    findings.compare_urls("a selector of many values", BYTES / 4, &mut |bytes| {
        let values: Vec<String> = (0..bytes / 8).map(|number| format!("v{number}")).collect();
        let url = format!("{CONFIG_MAPS}?labelSelector=x+in+({})", values.join(","));
        (url.len(), server.get(&url, "application/json").time)
    });
    findings.compare_urls("a selector of many requirements", BYTES / 4, &mut |bytes| {
        let all: Vec<String> = (0..bytes / 8).map(|number| format!("x!=v{number}")).collect();
        let url = format!("{CONFIG_MAPS}?labelSelector={}", all.join(","));
        (url.len(), server.get(&url, "application/json").time)
    });
    for accept in [
        "application/json",
        "application/yaml",
        "application/cbor",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ] {
        findings.compare(accept, BYTES, &mut |bytes| {
            let server = Server::start();
            let data: Map<String, Value> =
                (0..bytes / 12).map(|number| (format!("k{number}"), "v".into())).collect();
            let object = json!({"metadata": {"name": "p"}, "data": data}).to_string();
            assert_eq!(server.post(CONFIG_MAPS, object).status, 201);
            let answer = server.get(&format!("{CONFIG_MAPS}/p"), accept);
            assert_eq!(answer.status, 200);
            (bytes, answer.time + server.get(&format!("{CONFIG_MAPS}?pretty=true"), accept).time)
        });
    }
    findings.expect_none();
}

#[test]
fn openapi_documents_take_bounded_time() {
    let server = Server::start();
    let begin = thread_time();
    assert_eq!(server.get("/openapi/v2", "application/json").status, 200);
    let took = thread_time().saturating_sub(begin);
    assert!(took < std::time::Duration::from_mins(1), "{took:?}");
}
