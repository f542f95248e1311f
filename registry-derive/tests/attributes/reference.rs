//! The [reference] of the attributes is compared with its examples, and with the messages of the compiler.

use registry_core::Resource as _;
use registry_core::api::GroupVersionKind;
use registry_core::schema::Schema;
use registry_grammar::reference;
use serde_json::Value;

use super::{ClusterTrustBundles, Enclosure, Fields, Pods};

/// Returns the schema of [`Fields`], as a CustomResourceDefinition would have it.
fn written() -> Value {
    let kind = GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Fields" };
    let schema = Schema::from_json_schema(schemars::schema_for!(Fields).as_value(), kind);
    let definition = schema.definition().unwrap();
    assert_eq!(definition.faults().to_string(), "");
    definition.schema().clone()
}

#[test]
fn schemas_of_the_reference_are_those_of_the_examples() {
    let written = written();
    let mut wrong = Vec::new();
    for entry in reference::entries() {
        for (field, expected) in entry.schema {
            let expected: Value = serde_json::from_str(expected).unwrap();
            let mut found = written["properties"][*field].clone();
            found.as_object_mut().map(|schema| schema.remove("description"));
            if found != expected {
                wrong.push(format!("{}: {field}: {found}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_entry_of_the_reference_has_an_example() {
    let text = include_str!("../attributes.rs");
    for entry in reference::entries() {
        for anchor in entry.examples {
            let found = reference::anchored(text, anchor);
            assert!(found.is_some_and(|example| !example.is_empty()), "{}: no anchor {anchor}", entry.name);
        }
        assert!(!entry.examples.is_empty(), "{} has no example", entry.name);
    }
}

#[test]
fn compile_errors_of_the_reference_are_those_of_the_snapshots() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ui");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let snapshots = files.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    let messages: String = snapshots.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for entry in reference::entries() {
        for error in entry.errors {
            assert!(messages.contains(error), "{}: no snapshot has {error}", entry.name);
        }
    }
}

#[test]
fn declarations_of_the_examples_are_those_of_the_reference() {
    let enclosures = Enclosure::TYPE;
    assert_eq!((enclosures.plural, enclosures.singular), ("enclosures", "enclosure"));
    assert_eq!(enclosures.short_names, ["enc", "pen"]);
    assert_eq!(enclosures.storage_prefix, "zoo/enclosures");
    let names: Vec<&str> = enclosures.selectable.iter().map(|field| field.name).collect();
    assert_eq!(names, ["spec.keeper", "type", "status.IP", "label"]);
    assert_eq!(enclosures.indexes, ["spec.keeper"]);
    assert!(enclosures.has_status && enclosures.has_generation && enclosures.scale.is_some());
    assert!(Pods::TYPE.has_generation && !ClusterTrustBundles::TYPE.has_generation);
}
