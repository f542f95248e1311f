//! Unions in generated schemas.

use serde_json::{Map, Value, json};

use super::keywords::{self, is_restriction};

type JsonMap = Map<String, Value>;

/// The variants of a schema's value.
pub(super) enum Variants<'a> {
    /// The schema has none.
    None,
    /// Only one beside null.
    Single(&'a Value),
    /// Plain values.
    Choices(Vec<Value>),
    /// Objects with fields.
    Objects(Vec<&'a JsonMap>),
    /// Anything else.
    Mixed,
}

/// Returns the name of the definition that a schema refers to.
pub(super) fn reference(schema: &JsonMap) -> Option<&str> {
    let reference = schema.get("$ref")?.as_str()?;
    Some(reference.rsplit('/').next().unwrap_or(reference))
}

/// Returns the variants that a schema describes. Schemas without types only restrict the value.
pub(super) fn variants<'a>(schema: &'a JsonMap, definitions: Option<&'a JsonMap>) -> Variants<'a> {
    if keywords::is_int_or_string(schema) {
        return Variants::None;
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(variants)) = schema.get(key) else { continue };
        if variants.iter().all(is_restriction) {
            continue;
        }
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|name| name == "null");
        let real: Vec<&Value> = variants.iter().filter(|variant| !is_null(variant)).collect();
        if let [only] = real.as_slice() {
            return Variants::Single(only);
        }
        if let Some(choices) = real.iter().map(|variant| choices(variant)).collect::<Option<Vec<_>>>() {
            return Variants::Choices(choices.concat());
        }
        let objects = real.iter().map(|variant| object(variant, definitions)).collect::<Option<Vec<_>>>();
        return objects.filter(|_| key != "allOf").map_or(Variants::Mixed, Variants::Objects);
    }
    Variants::None
}

/// Adds the fields of a variant to those of others. A field that differs between them has any value, or the values of
/// both.
pub(super) fn add_fields(properties: &mut JsonMap, more: JsonMap) {
    for (name, schema) in more {
        let Some(known) = properties.get_mut(&name).filter(|known| **known != schema) else {
            properties.insert(name, schema);
            continue;
        };
        match (known.get_mut("enum"), schema.get("enum")) {
            (Some(Value::Array(values)), Some(Value::Array(more))) => values.extend(more.iter().cloned()),
            _ => *known = json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true}),
        }
    }
}

/// Whether a variant, or a field of one, has rules.
pub(super) fn have_rules(schema: &JsonMap, definitions: Option<&JsonMap>) -> bool {
    let resolved = |variant: &Value| {
        let name = variant.as_object().and_then(reference);
        let found = name.and_then(|name| definitions?.get(name));
        has_rules(found.unwrap_or(variant))
    };
    let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    lists.flatten().any(resolved)
}

fn has_rules(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("x-kubernetes-validations") || map.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// Returns the values of a variant that lists them.
fn choices(variant: &Value) -> Option<Vec<Value>> {
    match (variant.get("const"), variant.get("enum")) {
        (Some(only), _) => Some(vec![only.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

/// Returns the schema of a variant that is an object with fields.
fn object<'a>(variant: &'a Value, definitions: Option<&'a JsonMap>) -> Option<&'a JsonMap> {
    let variant = variant.as_object()?;
    let found = match reference(variant) {
        Some(name) => definitions?.get(name)?.as_object()?,
        None => variant,
    };
    (keywords::type_name(found) == Some("object") && found.contains_key("properties")).then_some(found)
}
