//! Objects whose schema cannot fully describe the struct: enums with data become "any value" in it.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::api::{ErrorList, FieldError, FieldPath};

/// Whether a schema has a union of types other than plain values, which is compiled to any value.
pub(super) fn has_unions(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            ["oneOf", "anyOf", "allOf"].iter().any(|key| map.get(*key).is_some_and(is_union))
                || map.values().any(has_unions)
        }
        Value::Array(items) => items.iter().any(has_unions),
        _ => false,
    }
}

/// Allows unknown fields in structs with a union beside their own fields (that of a flattened enum).
pub(super) fn keep_flattened(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let has_union =
                ["oneOf", "anyOf", "allOf"].iter().any(|key| map.get(*key).is_some_and(Value::is_array));
            if has_union && map.contains_key("properties") {
                map.insert("x-kubernetes-preserve-unknown-fields".to_owned(), Value::Bool(true));
            }
            map.values_mut().for_each(keep_flattened);
        }
        Value::Array(items) => items.iter_mut().for_each(keep_flattened),
        _ => {}
    }
}

/// Whether there are several variants besides null, at least one of which is not a plain enumeration.
fn is_union(variants: &Value) -> bool {
    let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
    let is_choice = |schema: &&Value| schema.get("const").is_some() || schema.get("enum").is_some();
    let real: Vec<&Value> = variants.as_array().into_iter().flatten().filter(|one| !is_null(one)).collect();
    real.len() > 1 && !real.iter().all(is_choice)
}

/// Deserialises the object into its struct. A mismatch is an error at its field.
pub(super) fn check<T: DeserializeOwned>(object: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    if let Err(error) = serde_path_to_error::deserialize::<_, T>(object) {
        let (field, value) = field(error.path(), object);
        errors.push(FieldError::invalid(field, value, error.inner().to_string()));
    }
    errors
}

/// Returns the field path in Kubernetes' notation and the field's value. Omits enum variants that do not appear in the
/// JSON.
fn field(path: &Path, object: &Value) -> (FieldPath, Value) {
    let mut field = FieldPath::root();
    let mut value = object;
    for segment in path {
        let (next, below) = match segment {
            Segment::Seq { index } => (value.get(*index), field.index(*index)),
            Segment::Map { key } => (value.get(key), field.child(key)),
            Segment::Enum { variant } => (value.get(variant), field.child(variant)),
            Segment::Unknown => (None, field.clone()),
        };
        let Some(next) = next else { break };
        value = next;
        field = below;
    }
    (field, value.clone())
}

#[cfg(test)]
mod tests;
