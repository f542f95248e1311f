//! Types as Go names them, for messages.

use registry_meta::go_text::{print, print_map};
use serde_json::{Map, Value};

use crate::patch::PatchError;

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

pub(super) fn unknown_directive(map: &Map<String, Value>) -> PatchError {
    let directive = map.get(super::PATCH).map(print).unwrap_or_default();
    PatchError::Contradictory(format!("unknown patch type: {directive} in map: {}", print_map(map)))
}

pub(super) fn no_merge_key(element: &Value, key: &str) -> PatchError {
    let element = print(element);
    PatchError::Contradictory(format!("map: {element} does not contain declared merge key: {key}"))
}

pub(super) fn no_list(found: &Value) -> PatchError {
    PatchError::Contradictory(format!("expected a []interface {{}}, but received a {}", go_type(found)))
}

pub(super) fn no_map(found: &Value) -> PatchError {
    let found = go_type(found);
    PatchError::Contradictory(format!("expected a map[string]interface {{}}, but received a {found}"))
}
