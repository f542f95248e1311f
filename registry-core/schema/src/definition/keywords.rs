//! The keywords of JSON Schema in the form of OpenAPI 3.0.

use serde_json::{Map, Value, json};

use registry_meta::{ErrorList, FieldError, FieldPath};

type JsonMap = Map<String, Value>;

pub(super) const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const LIST_TYPE: &str = "x-kubernetes-list-type";

/// Keywords that have the same meaning in both.
const SAME: [&str; 16] = [
    "description",
    "enum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "pattern",
    "required",
    "title",
];

/// The extensions of Kubernetes.
const EXTENSIONS: [&str; 10] = [
    "x-kubernetes-embedded-resource",
    INT_OR_STRING,
    "x-kubernetes-list-map-keys",
    LIST_TYPE,
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    KEEPS_UNKNOWN,
    "x-kubernetes-unions",
    "x-kubernetes-validations",
];

/// Keywords that restrict values, and that structural schemas do not have.
const UNSUPPORTED: [&str; 9] = [
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "propertyNames",
    "then",
    "unevaluatedItems",
];

/// Returns the only type of a schema other than null.
pub(crate) fn type_name(schema: &JsonMap) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name.as_str()).filter(|name| *name != "null"),
        Value::Array(names) => {
            let mut real = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            real.next().filter(|_| real.next().is_none())
        }
        _ => None,
    }
}

/// Whether values are integers or strings.
pub(super) fn is_int_or_string(schema: &JsonMap) -> bool {
    schema.get(INT_OR_STRING) == Some(&Value::Bool(true))
        || schema.get("format").is_some_and(|format| format == "int-or-string")
}

/// Writes what a schema says without other schemas. Adds what has no effect to the faults.
pub(super) fn written(schema: &JsonMap, path: &FieldPath, faults: &mut ErrorList) -> JsonMap {
    check(schema, path, faults);
    let mut written: JsonMap = (schema.iter())
        .filter(|(key, _)| SAME.contains(&key.as_str()) || EXTENSIONS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if is_int_or_string(schema) {
        written.insert(INT_OR_STRING.to_owned(), true.into());
    } else if let Some(name) = type_name(schema) {
        written.insert("type".to_owned(), name.into());
        write_format(schema, name, &mut written);
    }
    if let Some(Value::Array(values)) = written.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(only) = schema.get("const") {
        written.insert("enum".to_owned(), json!([only]));
    }
    write_bound(schema, "minimum", "exclusiveMinimum", &mut written);
    write_bound(schema, "maximum", "exclusiveMaximum", &mut written);
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(variants)) = schema.get(key)
            && (variants.iter().all(is_restriction) || is_int_or_string(schema))
        {
            written.insert(key.to_owned(), variants.clone().into());
        }
    }
    let default = schema.get("default").filter(|default| !default.is_null());
    if let Some(default) = default {
        written.insert("default".to_owned(), without_nulls(default.clone()));
    }
    written
}

/// Writes the list type of a Rust set, whose elements are distinct.
pub(super) fn write_uniqueness(schema: &JsonMap, written: &mut JsonMap) {
    let is_scalar = |kind: &str| matches!(kind, "string" | "integer" | "number" | "boolean");
    let items = written.get("items").and_then(|items| items.get("type")).and_then(Value::as_str);
    if is_set(schema) && items.is_some_and(is_scalar) {
        written.insert(LIST_TYPE.to_owned(), "set".into());
    }
}

/// Whether a schema describes a Rust set, and says nothing else about how the list is merged.
fn is_set(schema: &JsonMap) -> bool {
    schema.get("uniqueItems") == Some(&Value::Bool(true)) && !schema.contains_key(LIST_TYPE)
}

/// Removes the nulls of absent optional fields.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key, without_nulls(value))).collect::<JsonMap>().into()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect::<Vec<_>>().into(),
        other => other,
    }
}

/// Writes the format, or the range that a Rust type has instead.
fn write_format(schema: &JsonMap, kind: &str, written: &mut JsonMap) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
    if kind == "integer" && !matches!(format, "int32" | "int64") {
        if format == "uint32" {
            written.entry("maximum").or_insert_with(|| u32::MAX.into());
        }
        return;
    }
    written.insert("format".to_owned(), format.into());
}

/// Writes a bound that excludes the number itself as two keywords.
fn write_bound(schema: &JsonMap, key: &str, exclusive: &str, written: &mut JsonMap) {
    match schema.get(exclusive) {
        Some(Value::Number(number)) => {
            written.insert(key.to_owned(), Value::Number(number.clone()));
            written.insert(exclusive.to_owned(), true.into());
        }
        Some(Value::Bool(flag)) => {
            written.insert(exclusive.to_owned(), (*flag).into());
        }
        _ => {}
    }
}

/// Adds the keywords that have no effect to the faults.
fn check(schema: &JsonMap, path: &FieldPath, faults: &mut ErrorList) {
    for key in schema.keys() {
        if UNSUPPORTED.contains(&key.as_str()) {
            let detail = "structural schemas do not have it: write a rule in `x-kubernetes-validations`";
            faults.push(FieldError::forbidden(path.child(key), detail));
        } else if key.starts_with("x-kubernetes-") && !EXTENSIONS.contains(&key.as_str()) {
            faults.push(FieldError::not_supported(path.clone(), key.as_str(), &EXTENSIONS));
        }
    }
}

/// Whether a schema restricts a value without saying its type.
pub(super) fn is_restriction(schema: &Value) -> bool {
    let describes = |key: &str| schema.get(key).is_some();
    schema.is_object() && !["type", "$ref", "const", "anyOf", "oneOf", "allOf"].into_iter().any(describes)
}
