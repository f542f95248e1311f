//! Tests with Kubernetes' own encoded objects, compared with the project's schema. The data of upstream is in the
//! directory given by `ORLOP_UPSTREAM`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::*;

fn table() -> Arc<TypeTable> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../resources/src/generated");
    let text = std::fs::read_to_string(directory.join("types.facts")).unwrap();
    Arc::new(TypeTable::parse(&text).unwrap())
}

/// Returns the directory of upstream's objects; prints a message if it is not set and the test is skipped.
fn testdata(test: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from);
    if directory.is_none() {
        println!("SKIPPED {test}: ORLOP_UPSTREAM names no directory with upstream's data");
    }
    Some(directory?.join("testdata"))
}

fn read(path: &Path) -> (Value, Vec<u8>) {
    let json = serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
    (json, std::fs::read(path).unwrap())
}

#[test]
fn full_objects_are_byte_exact_both_ways() {
    let Some(directory) = testdata("full_objects_are_byte_exact_both_ways") else { return };
    let table = table();
    let mut checked = 0;
    let mut unknown = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let (json, protobuf) = read(&path);
        let envelope = Envelope::parse(&protobuf).unwrap();
        let api_version = envelope.api_version;
        let kind = envelope.kind;
        let schema = match kind {
            // The one object without a type.
            "" => table.schema_named("io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"),
            _ => table.schema_of(api_version, kind),
        };
        let Some(schema) = schema else {
            unknown.push(format!("{api_version} {kind}"));
            continue;
        };
        assert!(schema.has_protobuf());
        let encoded = encode(&json, &schema, api_version, kind).unwrap();
        let decoded = decode(&protobuf, &Limits::default(), |_, _| Some(&schema)).unwrap();
        let mut expected = json;
        expected["apiVersion"] = api_version.into();
        expected["kind"] = kind.into();
        assert_eq!(decoded, expected, "{}", path.display());
        assert!(*encoded == *protobuf, "{}:\n{encoded:?}\n{:?}", path.display(), Bytes::from(protobuf));
        checked += 1;
    }
    println!("{checked} objects are the same both ways; of unknown kinds: {unknown:?}");
    assert!(checked >= 60, "only {checked} objects were of known kinds");
}

/// Prints the time of the hot path. Depends on the machine, so it asserts nothing.
#[test]
#[ignore = "a measurement, for release builds"]
fn how_long_it_takes() {
    let table = table();
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "b", "labels": {"app": "x"}, "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "data": {"k": "x".repeat(1100), "l": "v"},
    });
    time("a ConfigMap of 1.4 KB", &table, &config_map);
    let Some(directory) = testdata("how_long_it_takes") else { return };
    time("a Pod with every field", &table, &read(&directory.join("core.v1.Pod.pb")).0);
}

fn time(what: &str, table: &Arc<TypeTable>, object: &Value) {
    const ROUNDS: u32 = 5_000;
    let kind = object["kind"].as_str().unwrap();
    let schema = table.schema_of("v1", kind).unwrap();
    let json = object.to_string();
    let protobuf = encode(object, &schema, "v1", kind).unwrap();
    let cbor = crate::codec::cbor::encode(object, Some(&schema));
    println!("{what}: {} bytes of JSON, {} of protobuf, {} of CBOR", json.len(), protobuf.len(), cbor.len());
    let measure = |name: &str, work: &dyn Fn()| {
        let started = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        println!("  {name}: {:?}", started.elapsed() / ROUNDS);
    };
    measure("JSON out", &|| drop(serde_json::to_vec(object).unwrap()));
    measure("JSON in", &|| drop(crate::codec::json::decode(json.as_bytes(), &limits()).unwrap()));
    measure("protobuf out", &|| drop(encode(object, &schema, "v1", kind)));
    measure("protobuf in", &|| drop(decode(&protobuf, &limits(), |_, _| Some(&schema)).unwrap()));
    measure("CBOR out", &|| drop(crate::codec::cbor::encode(object, Some(&schema))));
    measure("CBOR in", &|| drop(crate::codec::cbor::decode(&cbor, &limits()).unwrap()));
}
