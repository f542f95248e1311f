//! Values and types in Go's print format, for messages.

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

/// Formats a value as `%v`.
pub fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => print_list(list),
        Value::Object(map) => print_map(map),
        other => other.to_string(),
    }
}

pub(super) fn print_list(list: &[Value]) -> String {
    format!("[{}]", list.iter().map(print).collect::<Vec<_>>().join(" "))
}

fn print_map(map: &Map<String, Value>) -> String {
    let entries: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", print(value))).collect();
    format!("map[{}]", entries.join(" "))
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
