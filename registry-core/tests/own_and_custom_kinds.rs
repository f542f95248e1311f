//! The same schema as that of an author's struct and as that of a custom resource: recorded objects get the same errors.
//!
//! Skipped if the recordings are not there: `ORLOP_CORPUS` names their directory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "what is missing fails the test")]

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use registry_core::RequestContext;
use registry_core::api::{ErrorList, GroupVersionKind};
use registry_core::context::Budget;
use registry_core::resource::{SchemaRules, WrittenValue};
use registry_core::schema::Schema;
use serde_json::Value;

const KIND: GroupVersionKind = GroupVersionKind { group: "corpus.example.com", version: "v1", kind: "Thing" };

/// The reason for which an object of a struct is answered otherwise than a custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// A value of the wrong type is refused when the object is decoded, as in Kubernetes' own kinds (400 instead of 422).
    Decoding,
    /// Null is the absence of a field, as in Kubernetes' own kinds.
    Null,
    /// A Rust type has no schema like this one: `oneOf` and the like describe types, or a type has no fields that are
    /// declared where they are restricted.
    NoRustType,
}

/// A schema in one of the two forms.
struct Kind {
    schema: Schema,
    rules: SchemaRules,
}

// === impl Kind ===

impl Kind {
    fn own(schema: &Value) -> Self {
        let schema = Schema::from_json_schema(schema, KIND);
        let rules = SchemaRules::from_definition(schema.definition().unwrap());
        Self { schema, rules }
    }

    fn custom(schema: &Value) -> Self {
        let compiled = Schema::for_custom_resource(schema, false, KIND);
        let rules = SchemaRules::compile(schema, compiled.structural().cloned());
        Self { schema: compiled, rules }
    }

    /// Returns the object as it would be stored.
    fn decoded(&self, object: &Value) -> Result<Value, String> {
        let mut object = object.clone();
        self.schema.conform(&mut object, &mut Vec::new()).map_err(|error| error.to_string())?;
        self.schema.apply_defaults(&mut object, &Budget::unlimited()).unwrap();
        Ok(object)
    }

    /// Returns the errors of a write, sorted; or the decoder's.
    fn errors(&self, new: &Value, old: Option<&Value>) -> Result<Vec<String>, String> {
        let new = self.decoded(new)?;
        let old = old.map(|old| self.decoded(old)).transpose()?;
        let errors = ErrorList::default();
        let write = WrittenValue { new: &new, old: old.as_ref(), is_status: false, errors: &errors };
        let found = self.rules.validate(&RequestContext::default(), write, |_| {});
        let mut found: Vec<String> = found.0.iter().map(ToString::to_string).collect();
        found.sort();
        Ok(found)
    }
}

/// Returns the recorded cases; `None`, with a message, if there are none.
fn cases() -> Option<Vec<Value>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
    let directory = std::env::var_os("ORLOP_CORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = directory.join("custom-open.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("no recordings at {} (set ORLOP_CORPUS to where they are)", path.display());
        io::stderr()
            .write_all(
                format!("SKIPPED recorded_objects_get_the_same_errors_in_both_forms: {text}\n").as_bytes(),
            )
            .unwrap();
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

/// Whether a schema says anything that no Rust type says.
fn has_no_rust_type(schema: &Value) -> bool {
    let combines = ["allOf", "anyOf", "oneOf", "not"].iter().any(|key| schema.get(*key).is_some());
    let is_embedded = schema.get("x-kubernetes-embedded-resource").is_some();
    let below = match schema {
        Value::Array(items) => items.iter().any(has_no_rust_type),
        Value::Object(map) => map.values().any(has_no_rust_type),
        _ => false,
    };
    combines || is_embedded || below || schema.get("nullable").is_some()
}

#[test]
fn recorded_objects_get_the_same_errors_in_both_forms() {
    let Some(cases) = cases() else { return };
    let mut counts: BTreeMap<Option<Difference>, usize> = BTreeMap::new();
    let mut unexpected = Vec::new();
    for case in &cases {
        let schema = &case["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            continue;
        }
        let old = case.get("old").filter(|old| !old.is_null());
        let own = Kind::own(schema).errors(&case["body"], old);
        let custom = Kind::custom(schema).errors(&case["body"], old);
        let difference = match (&own, &custom) {
            _ if own == custom => None,
            (Err(_), _) => Some(Difference::Decoding),
            _ if has_null(&case["body"]) => Some(Difference::Null),
            _ if has_no_rust_type(schema) => Some(Difference::NoRustType),
            _ => {
                unexpected.push(format!("{}\n  own    {own:?}\n  custom {custom:?}\n  {schema}", case["id"]));
                continue;
            }
        };
        *counts.entry(difference).or_default() += 1;
    }
    println!("{counts:?} of {}", cases.len());
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert!(counts[&None] * 10 >= cases.len() * 7, "{counts:?}");
}
