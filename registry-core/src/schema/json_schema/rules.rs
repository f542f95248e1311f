//! Parses scalar types and rules of a JSON schema.

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::super::rules::{Bound, Pattern, Rules};
use super::super::types::Scalar;

/// Returns the only type of a schema other than null.
pub(super) fn type_name(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut real = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            real.next().filter(|_| real.next().is_none())
        }
        _ => None,
    }
}

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

/// Returns the schema's rules other than types.
pub(super) fn rules(schema: &Map<String, Value>) -> Rules {
    let length = |keys: [&str; 3]| keys.iter().find_map(|key| schema.get(*key)).and_then(Value::as_u64);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    Rules {
        accepted: choices(schema),
        minimum: bound(schema, "minimum", "exclusiveMinimum"),
        maximum: bound(schema, "maximum", "exclusiveMaximum").or_else(|| widest(schema)),
        multiple_of: schema.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0),
        least_length: length(["minLength", "minItems", "minProperties"]),
        most_length: length(["maxLength", "maxItems", "maxProperties"]),
        pattern: pattern.map(|text| Pattern { text: text.to_owned(), regex: Regex::new(text).ok() }),
    }
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

/// Returns a bound in the form of OpenAPI (a flag makes it exclusive) or of JSON Schema (a separate number).
fn bound(schema: &Map<String, Value>, key: &str, exclusive_key: &str) -> Option<Bound> {
    let number = |key: &str| schema.get(key).and_then(Value::as_number).cloned();
    match number(exclusive_key) {
        Some(number) => Some(Bound { number, exclusive: true }),
        None => Some(Bound { number: number(key)?, exclusive: super::flag(schema, exclusive_key) }),
    }
}

/// Returns the maximum of Rust's unsigned types, which schemars expresses only by the format.
fn widest(schema: &Map<String, Value>) -> Option<Bound> {
    let most = match schema.get("format").and_then(Value::as_str)? {
        "uint32" => u64::from(u32::MAX),
        "uint16" => u64::from(u16::MAX),
        "uint8" => u64::from(u8::MAX),
        _ => return None,
    };
    Some(Bound { number: Number::from(most), exclusive: false })
}
