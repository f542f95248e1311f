//! Tests with all of Kubernetes' types. The tables are the project's; they are compared with upstream's data in the
//! directory given by `ORLOP_UPSTREAM`.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use serde_json::{Value, json};

use super::{Schema, TypeTable, conformed};
use crate::openapi::{Descriptions, components};
use registry_meta::split_api_version;

fn generated(file: &str) -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../resources/src/generated");
    std::fs::read(directory.join(file)).unwrap()
}

fn table() -> Arc<TypeTable> {
    Arc::new(TypeTable::parse(std::str::from_utf8(&generated("types.facts")).unwrap()).unwrap())
}

/// Returns upstream's directory; prints a message if it is not set and the test is skipped.
fn upstream(test: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from);
    if directory.is_none() {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = "ORLOP_UPSTREAM names no directory with upstream's data";
        io::stderr().write_all(format!("SKIPPED {test}: {text}\n").as_bytes()).unwrap();
    }
    directory
}

fn read_json(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the schema of the object's kind.
fn schema_of(table: &Arc<TypeTable>, object: &Value) -> Option<Schema> {
    let api_version = object["apiVersion"].as_str()?;
    let (group, version) = split_api_version(api_version);
    let entry = table.kinds.iter().find(|entry| {
        *entry.group == *group && *entry.version == *version && object["kind"].as_str() == Some(&entry.kind)
    })?;
    Some(Schema::with_root(Arc::clone(table), entry.ty))
}

#[test]
fn full_objects_conform_unchanged() {
    let Some(directory) = upstream("full_objects_conform_unchanged") else { return };
    let table = table();
    let mut checked = 0;
    for entry in std::fs::read_dir(directory.join("testdata")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let object = read_json(path.clone());
        let Some(schema) = schema_of(&table, &object) else { continue };
        let (conformed, issues) = conformed(&schema, object.clone());
        assert!(issues.is_empty(), "{}: {issues:?}", path.display());
        assert_eq!(conformed, object, "{}", path.display());
        checked += 1;
    }
    println!("{checked} objects conform unchanged");
    assert!(checked >= 60, "only {checked} objects were of known kinds");
}

#[test]
fn components_are_those_of_upstream() {
    let Some(directory) = upstream("components_are_those_of_upstream") else { return };
    let table = table();
    let descriptions = Descriptions::unpack(&generated("descriptions.zlib")).unwrap();
    let mut checked = 0;
    for entry in std::fs::read_dir(directory.join("openapi/v3")).unwrap() {
        let document = read_json(entry.unwrap().path());
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object).cloned();
        for (name, expected) in schemas.unwrap_or_default() {
            // These two list the kinds of the document they are in.
            if name.ends_with(".DeleteOptions") || name.ends_with(".WatchEvent") {
                continue;
            }
            let schema = table.schema_named(&name).unwrap_or_else(|| panic!("no {name}"));
            let ours = components(&[&schema], Some(&descriptions));
            let differing = difference(&name, &ours[&name], &expected);
            assert_eq!(differing, None);
            checked += 1;
        }
    }
    println!("{checked} components are those of upstream");
    assert!(checked > 1000);
}

#[test]
fn every_enumerated_field_is_described_with_its_values() {
    let table = table();
    let mut descriptions = Descriptions::unpack(&generated("descriptions.zlib")).unwrap();
    descriptions.add_enums(&generated("enums.zlib")).unwrap();
    let mut lines = String::new();
    ZlibDecoder::new(&*generated("enums.zlib")).read_to_string(&mut lines).unwrap();
    for line in lines.lines() {
        let [name, field, enumeration] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (values, text): (Value, String) = serde_json::from_str(enumeration).unwrap();
        let schema = table.schema_named(name).unwrap_or_else(|| panic!("no {name}"));
        let property = &components(&[&schema], Some(&descriptions))[name]["properties"][field];
        let elements = property.get("items").or_else(|| property.get("additionalProperties"));
        let enumerated = elements.unwrap_or(property);
        assert_eq!((&enumerated["enum"], &enumerated["type"]), (&values, &json!("string")), "{line}");
        assert!(property["description"].as_str().unwrap().ends_with(&text), "{line}");
    }
    assert!(lines.lines().count() > 100);
}

/// Returns the first difference between two values. Ignores the order of required fields and of kinds.
fn difference(path: &str, ours: &Value, expected: &Value) -> Option<String> {
    match (ours, expected) {
        (Value::Object(ours), Value::Object(expected)) => {
            let keys = ours.keys().chain(expected.keys());
            keys.into_iter().find_map(|key| {
                let ours = ours.get(key);
                let expected = expected.get(key);
                let path = format!("{path}/{key}");
                match (ours, expected) {
                    (Some(Value::Array(ours)), Some(Value::Array(expected)))
                        if key == "required" || key.ends_with("-kind") =>
                    {
                        (sorted(ours) != sorted(expected)).then_some(path)
                    }
                    (Some(ours), Some(expected)) => difference(&path, ours, expected),
                    _ => Some(format!("{path}: {} != {}", json!(ours), json!(expected))),
                }
            })
        }
        _ if ours == expected => None,
        _ => Some(format!("{path}: {ours} != {expected}")),
    }
}

fn sorted(list: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = list.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}
