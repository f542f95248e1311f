//! Tests with Kubernetes' own encoded objects, compared with the project's schema. The data of upstream is in the
//! directory given by `ORLOP_UPSTREAM`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
        // Not `println!`: the harness hides the output of tests that pass.
        let text = "ORLOP_UPSTREAM names no directory with upstream's data";
        io::stderr().write_all(format!("SKIPPED {test}: {text}\n").as_bytes()).unwrap();
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
