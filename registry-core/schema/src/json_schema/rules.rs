//! Parses scalar types and rules of a JSON schema.

use serde_json::{Map, Value};

use super::super::definition::{openapi_keywords, type_name};
use super::super::types::Scalar;

/// Keywords of schemas that restrict values, apart from `format`.
const RESTRICTIONS: [&str; 18] = [
    "allOf",
    "anyOf",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
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
    "oneOf",
    "pattern",
    "x-kubernetes-validations",
];

/// Returns the Go name and format of a schema that is neither a list nor an object.
pub(super) fn scalar(schema: &Map<String, Value>) -> (&'static str, Scalar) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if format == "int-or-string" || super::flag(schema, "x-kubernetes-int-or-string") {
        return ("intstr.IntOrString", Scalar::IntOrString);
    }
    match type_name(schema) {
        Some("boolean") => ("bool", Scalar::Bool),
        Some("integer") => match format {
            "int8" | "int16" | "int32" | "uint8" | "uint16" => ("int32", Scalar::Int32),
            _ => ("int64", Scalar::Int64),
        },
        Some("number") => ("float64", Scalar::Double),
        Some("string") => match format {
            "byte" => ("[]uint8", Scalar::Bytes),
            "date-time" => ("v1.Time", Scalar::Time),
            _ => ("string", Scalar::String),
        },
        _ if choices(schema).iter().any(Value::is_string) => ("string", Scalar::String),
        _ => ("interface {}", Scalar::Any),
    }
}

/// Returns what a schema says about values apart from their types, as OpenAPI shows it.
pub(super) fn restrictions(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut restrictions = openapi_keywords(schema);
    restrictions.retain(|key, value| match key.as_str() {
        "format" => value.as_str().is_some_and(|format| !["byte", "date-time"].contains(&format)),
        key => RESTRICTIONS.contains(&key),
    });
    if type_name(schema) != Some("string") {
        restrictions.remove("format");
    }
    let accepted = choices(schema);
    if !accepted.is_empty() {
        restrictions.insert("enum".to_owned(), accepted.into());
    }
    restrictions
}

/// Returns the allowed values of an enum, from `enum` or from the `const` of each variant; empty if all are allowed.
fn choices(schema: &Map<String, Value>) -> Vec<Value> {
    if let Some(Value::Array(accepted)) = schema.get("enum") {
        return accepted.iter().filter(|value| !value.is_null()).cloned().collect();
    }
    let Some(Value::Array(variants)) = schema.get("oneOf") else { return Vec::new() };
    let mut accepted = Vec::new();
    for variant in variants {
        match (variant.get("const"), variant.get("enum")) {
            (Some(only), _) => accepted.push(only.clone()),
            (None, Some(Value::Array(several))) => accepted.extend(several.iter().cloned()),
            _ => return Vec::new(),
        }
    }
    accepted
}
