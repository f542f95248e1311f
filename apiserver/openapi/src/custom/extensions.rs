//! The extensions of schemas in definitions.

use serde_json::{Map, Value};

/// Whether unknown fields are kept.
pub(super) const PRESERVE_UNKNOWN_FIELDS: &str = "x-kubernetes-preserve-unknown-fields";
/// Whether the value is an object with a type and metadata.
pub(super) const EMBEDDED_RESOURCE: &str = "x-kubernetes-embedded-resource";
/// Whether the value is an integer or a string.
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

const VALIDATIONS: &str = "x-kubernetes-validations";

/// Copies the extensions that say what a value is.
pub(super) fn copy(from: &mut Map<String, Value>, to: &mut Map<String, Value>) {
    for name in [PRESERVE_UNKNOWN_FIELDS, EMBEDDED_RESOURCE, INT_OR_STRING] {
        if is_true(from, name) {
            to.insert(name.to_owned(), true.into());
        }
    }
    for name in ["x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if let Some(value) = from.remove(name).filter(is_set) {
            to.insert(name.to_owned(), value);
        }
    }
}

/// Copies the rules. Of a rule, everything but the expression is optional.
pub(super) fn copy_rules(from: &mut Map<String, Value>, to: &mut Map<String, Value>) {
    let Some(Value::Array(mut rules)) = from.remove(VALIDATIONS).filter(is_set) else { return };
    for rule in rules.iter_mut().filter_map(Value::as_object_mut) {
        rule.retain(|name, value| name == "rule" || is_set(value));
        rule.entry("rule").or_insert_with(|| "".into());
    }
    to.insert(VALIDATIONS.to_owned(), rules.into());
}

/// Returns whether a field is true.
pub(super) fn is_true(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

/// Returns whether this is anything but null or an empty text, list or map.
pub(super) fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}
