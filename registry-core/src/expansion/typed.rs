//! Objects whose schema cannot fully describe the struct: enums with data become "any value" in it.

use serde_json::Value;

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

/// Allows unknown fields in structs that have, beside their own fields, a union: the fields of a flattened enum.
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
    let real: Vec<&Value> =
        variants.as_array().into_iter().flatten().filter(|variant| !is_null(variant)).collect();
    real.len() > 1 && !real.iter().all(is_choice)
}

#[cfg(test)]
mod tests;
