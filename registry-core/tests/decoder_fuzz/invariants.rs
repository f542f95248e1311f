//! Invariants of the decoders, selectors and patches, which hold for every input.
//!
//! Shared by the bounded test beside this file and by the coverage-guided targets in `/fuzz`.

#![allow(unreachable_pub, reason = "the fuzzing crate exports them")]

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use registry_core::api::selector::{FieldSelector, LabelSelector};
use registry_core::api::{GroupVersionKind, Object};
use registry_core::cel;
use registry_core::codec::{self, Limits};
use registry_core::context::Budget;
use registry_core::patch;
use registry_core::schema::{FieldOrder, Schema, TypeTable};
use serde_json::Value;

/// Encoding a decoded value and decoding it again yields the same value; stored values keep all but their version.
pub fn json(input: &[u8]) {
    let Ok(decoded) = codec::json::decode(input, &Limits::default()) else { return };
    let again = read(&encode(&decoded.value));
    assert_eq!(again, decoded.value, "decoding the encoding changes the value");
    if let Ok(object) = Object::from_value(decoded.value) {
        stored_object(object);
    }
}

/// A stored value of any shape is read, spliced and written consistently.
pub fn stored(input: &[u8]) {
    if let Ok(object) = codec::stored::decode(input) {
        stored_object(object);
    }
    let value = Bytes::copy_from_slice(input);
    let Ok((answer, at)) = codec::stored::with_resource_version(&value, 42) else { return };
    assert!(is_tail(answer.get(at as usize..)));
    // A value that begins as a canonical one is trusted to be one, without a version of its own.
    let versionless = codec::stored::decode(input).is_ok_and(|object| object.resource_version().is_empty());
    if versionless {
        assert_eq!(codec::stored::decode(&answer).expect("an answer is JSON").resource_version(), "42");
    }
}

fn stored_object(mut object: Object) {
    let names = ["status", "data", "a"].map(Arc::from);
    let orders = [FieldOrder::Usual, FieldOrder::Declared(&names), FieldOrder::ByName];
    let encodings = orders.map(|order| (order, codec::stored::encode(&object, order)));
    let metadata = object.0.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.remove("resourceVersion");
        metadata.remove("selfLink");
    }
    for (order, bytes) in encodings {
        let read = codec::stored::decode(&bytes).expect("what was stored is read");
        assert_eq!(read, object, "storing changes the object");
        assert_eq!(codec::stored::encode(&read, order), bytes, "the encoding is canonical");
        let answer = codec::stored::with_resource_version(&bytes, 42).expect("stored values are answered");
        assert!(is_tail(answer.0.get(answer.1 as usize..)));
        let read = codec::stored::decode(&answer.0).expect("an answer is JSON");
        assert_eq!(read.resource_version(), "42");
    }
}

/// Whether these are the fields from the metadata on, or none, where other fields precede the metadata.
fn is_tail(tail: Option<&[u8]>) -> bool {
    tail.is_some_and(|tail| tail.is_empty() || tail.starts_with(b"\"metadata\":{"))
}

/// A decoded message converts to JSON, and back to an equal message. Covers every kind of field of the schema.
pub fn protobuf(input: &[u8]) {
    let schema = &*MESSAGES;
    let Ok(value) = codec::protobuf::decode(input, &Limits::default(), |_, _| Some(schema)) else { return };
    let api_version = &value["apiVersion"];
    let kind = &value["kind"];
    let names = (api_version.as_str().expect("is text"), kind.as_str().expect("is text"));
    let bytes = codec::protobuf::encode(&value, schema, names.0, names.1).expect("what was read is written");
    let again = codec::protobuf::decode(&bytes, &Limits::default(), |_, _| Some(schema));
    assert_eq!(again.expect("what was written is read"), value, "writing the object changes it");
}

/// Whether the decoder accepts this object.
pub fn is_protobuf(input: &[u8]) -> bool {
    codec::protobuf::decode(input, &Limits::default(), |_, _| Some(&*MESSAGES)).is_ok()
}

/// Decoded CBOR converts to JSON, and back to equal CBOR.
pub fn cbor(input: &[u8]) {
    let Ok(value) = codec::cbor::decode(input, &Limits::default()) else { return };
    let again = codec::cbor::decode(&codec::cbor::encode(&value, None), &Limits::default());
    assert_eq!(again.expect("what was written is read"), value, "writing the object changes it");
}

/// A YAML document converts to JSON, and back to equal YAML.
pub fn yaml(input: &[u8]) {
    let Ok(decoded) = codec::yaml::decode(input, &Limits::default()) else { return };
    let text = encode(&decoded.value);
    assert_eq!(read(&text), decoded.value, "the value is not JSON");
    if decoded.value.is_object() {
        let again = codec::yaml::decode(&text, &Limits::default()).expect("JSON objects are YAML");
        assert_eq!(again.value, decoded.value);
    }
}

/// The text of a selector parses to the same selector.
pub fn label_selector(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(selector) = LabelSelector::parse(text) else { return };
    assert_eq!(LabelSelector::parse(&selector.to_string()).as_ref(), Ok(&selector));
    selector.matches(|_| Some("1"));
}

/// The text of a selector parses to the same selector.
pub fn field_selector(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(selector) = FieldSelector::parse(text) else { return };
    assert_eq!(FieldSelector::parse(&selector.to_string()).as_ref(), Ok(&selector));
    selector.matches(|_| "1");
}

/// A refused patch changes nothing; an accepted patch leaves a value that can be encoded again.
pub fn json_patch(input: &[u8]) {
    let Some((before, patch)) = value_and_patch(input) else { return };
    let Ok(patch) = patch::json::JsonPatch::parse(&patch) else { return };
    let mut value = before.clone();
    match patch.apply(&mut value, &Budget::default()) {
        Ok(()) => assert_eq!(read(&encode(&value)), value),
        Err(_) => assert_eq!(value, before, "a refused patch changed the value"),
    }
}

/// Applying a merge patch again changes nothing more, except the nulls of a list that replaced an object.
pub fn merge_patch(input: &[u8]) {
    let Some((mut value, patch)) = value_and_patch(input) else { return };
    patch::merge::apply(&mut value, &patch);
    assert_eq!(read(&encode(&value)), value);
    patch::merge::apply(&mut value, &patch);
    let settled = value.clone();
    patch::merge::apply(&mut value, &patch);
    assert_eq!(value, settled, "a merge patch is idempotent");
}

/// A refused patch changes nothing; an accepted patch leaves a value that can be encoded again.
pub fn strategic_patch(input: &[u8]) {
    let Some((before, patch)) = value_and_patch(input) else { return };
    let mut value = before.clone();
    match patch::strategic::apply(&mut value, &patch, &SCHEMA) {
        Ok(()) => assert_eq!(read(&encode(&value)), value),
        Err(_) => assert_eq!(value, before, "a refused patch changed the value"),
    }
}

/// Splits an input into two JSON texts, each on its own line.
fn value_and_patch(input: &[u8]) -> Option<(Value, Value)> {
    let line_end = input.iter().position(|byte| *byte == b'\n')?;
    let value = input.get(..line_end)?;
    let patch = input.get(line_end + 1..)?;
    let decode = |text| codec::json::decode(text, &Limits::default()).ok().map(|decoded| decoded.value);
    Some((decode(value)?, decode(patch)?))
}

fn encode(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("values are encodable")
}

fn read(text: &[u8]) -> Value {
    let decoded = codec::json::decode(text, &Limits::default()).expect("an encoding can be decoded");
    assert!(decoded.duplicates.is_empty(), "an encoding has no duplicates");
    decoded.value
}

/// A kind with lists by key, sets, replaced lists, maps and structs.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    const FACTS: &str = "orlop facts 1
t - io.test.v1.Thing
 apiVersion 2 e -
 args 3 e -
 finalizers 3 e - merge
 items 4 e - merge name
 kind 2 e -
 labels 5 e -
 spec 1 pe -
 status 0 pe - replace
t - io.test.v1.Item
 env 4 e - merge name
 name 2 - -
 value 2 e -
s string - string
l 2 - - []string
l 1 - - []v1.Item
m 2 map[string]string
k 0 test.io v1 Thing
";
    let kind = GroupVersionKind { group: "test.io", version: "v1", kind: "Thing" };
    Arc::new(TypeTable::parse(FACTS).expect("a table")).schema(kind).expect("a kind of the table")
});

/// A schema with a field of every protobuf type.
static MESSAGES: LazyLock<Schema> = LazyLock::new(|| {
    let kind = GroupVersionKind { group: "", version: "v1", kind: "Everything" };
    let table = TypeTable::parse(include_str!("messages.facts")).expect("a table");
    Arc::new(table).schema(kind).expect("a kind of the table")
});

/// Compiling and evaluating any expression ends within its limits; a program that is compiled again has the same
/// estimate.
pub fn cel(input: &[u8]) {
    let Ok(source) = std::str::from_utf8(input) else { return };
    let environment = cel::Environment::kubernetes().with_variable("self", cel::Type::Dyn);
    let program = match environment.compile(source, &Budget::default()) {
        Ok(program) => program,
        Err(failure) => {
            assert!(!failure.to_string().is_empty(), "a failure has a message");
            return;
        }
    };
    let estimate = program.cost_estimate();
    assert!(estimate.min <= estimate.max, "an estimate is a range");
    let again = environment.compile(source, &Budget::default());
    assert_eq!(again.map(|again| again.cost_estimate()), Ok(estimate));
    let mut activation = environment.activation();
    activation.bind_dynamic("self", &CEL_OBJECT);
    let request = Budget::default();
    let budget = cel::CostBudget::new(CEL_COST_LIMIT).within(&request);
    match program.evaluate(&activation, &budget) {
        Ok(value) => {
            assert!(budget.spent() <= CEL_COST_LIMIT, "a value costs no more than the limit");
            let _printed = value.to_string();
        }
        Err(error) => assert!(!error.to_string().is_empty(), "an error has a message"),
    }
}

/// Maximum cost of an evaluation in this test.
const CEL_COST_LIMIT: u64 = 100_000;

/// The object over which expressions are evaluated.
static CEL_OBJECT: LazyLock<Value> = LazyLock::new(
    || serde_json::json!({"n": 3, "s": "text", "l": [1, 2, 3], "m": {"a": 1, "b": {"c": null}}, "d": 1.5}),
);
