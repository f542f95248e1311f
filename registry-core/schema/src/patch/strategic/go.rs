//! Types as Go names them, for messages.

use registry_meta::go_text::{print, print_map, type_name};
use serde_json::{Map, Value};

use crate::patch::Contradiction;

fn go_type(value: &Value) -> &'static str {
    if value.is_null() { "nil" } else { type_name(value) }
}

pub(super) fn unknown_directive(map: &Map<String, Value>) -> Contradiction {
    let directive = map.get(super::PATCH).map(print).unwrap_or_default();
    Contradiction::UnknownDirective { directive, map: print_map(map) }
}

pub(super) fn no_merge_key(element: &Value, key: &str) -> Contradiction {
    Contradiction::ElementWithoutKey { element: print(element), key: key.to_owned() }
}

pub(super) fn no_list(found: &Value) -> Contradiction {
    Contradiction::NoList(go_type(found))
}

pub(super) fn no_map(found: &Value) -> Contradiction {
    Contradiction::NoMap(go_type(found))
}
