//! Types as Go names them, for messages.

use registry_meta::go_text::{print, print_map, type_name};
use serde_json::{Map, Value};

use crate::patch::PatchError;

fn go_type(value: &Value) -> &'static str {
    if value.is_null() { "nil" } else { type_name(value) }
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
