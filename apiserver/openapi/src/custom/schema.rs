//! The schema of a definition as OpenAPI publishes it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::extensions::{self, EMBEDDED_RESOURCE, PRESERVE_UNKNOWN_FIELDS, is_set, is_true};
use super::structural::{Levels, copy_generics, is_convertible};
use super::{EMBEDDED_API_VERSION, EMBEDDED_KIND, METADATA, Target, described, text, validations};

/// Returns the published form of a schema; `None` if it has no structural form.
pub(super) fn published(schema: Value, target: Target) -> Option<Map<String, Value>> {
    node(schema, target, Levels::ALL)
}

fn node(schema: Value, target: Target, levels: Levels) -> Option<Map<String, Value>> {
    let Value::Object(mut from) = schema else { return None };
    if !is_convertible(&from) {
        return None;
    }
    let mut to = Map::new();
    copy_generics(&mut from, &mut to);
    extensions::copy(&mut from, &mut to);
    validations::copy(&mut from, &mut to);
    extensions::copy_rules(&mut from, &mut to);
    if target == Target::V3 {
        validations::copy_junctors(&mut from, &mut to, levels)?;
        validations::unfold(&mut to);
    }
    if target == Target::V2 {
        relax(&from, &mut to);
    }
    copy_children(&mut from, &mut to, target, levels)?;
    if target == Target::V2 {
        reduce(&mut to);
    }
    Some(to)
}

fn copy_children(
    from: &mut Map<String, Value>,
    to: &mut Map<String, Value>,
    target: Target,
    levels: Levels,
) -> Option<()> {
    if let Some(item) = from.remove("items").filter(|value| !value.is_null()) {
        to.insert("items".to_owned(), node(item, target, levels.next()?)?.into());
    }
    if let Some(Value::Object(properties)) = from.remove("properties").filter(is_set) {
        let mut copies = Map::new();
        for (name, property) in properties {
            copies.insert(name, node(property, target, levels.next()?)?.into());
        }
        to.insert("properties".to_owned(), copies.into());
    }
    match from.remove("additionalProperties") {
        None | Some(Value::Null) => {}
        Some(Value::Bool(allowed)) => {
            to.insert("additionalProperties".to_owned(), allowed.into());
        }
        Some(schema) => {
            to.insert("additionalProperties".to_owned(), node(schema, target, levels.next()?)?.into());
        }
    }
    Some(())
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// Removes nullable fields from the required ones: kubectl rejects null for those. `from` has the schemas of the fields,
/// which are not described at all if the value is nullable itself or keeps unknown fields.
fn relax(from: &Map<String, Value>, schema: &mut Map<String, Value>) {
    if from.get("additionalProperties").is_some_and(is_nullable) {
        schema.remove("required");
    }
    if is_open(schema) {
        return;
    }
    let properties = from.get("properties").and_then(Value::as_object).into_iter().flatten();
    let nullable: HashSet<&str> =
        properties.filter(|(_, property)| is_nullable(property)).map(|(name, _)| name.as_str()).collect();
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else { return };
    required.retain(|name| !name.as_str().is_some_and(|name| nullable.contains(name)));
    if required.is_empty() {
        schema.remove("required");
    }
}

/// Removes what documents of v2 cannot say, and what kubectl misunderstands in them: it takes the described fields for
/// the only ones, and expects lists to have a schema for their items.
fn reduce(schema: &mut Map<String, Value>) {
    if is_open(schema) {
        schema.remove("items");
        schema.remove("properties");
    }
    let is_nullable = schema.remove("nullable").is_some();
    let kind = schema.get("type").and_then(Value::as_str);
    let is_bare_list = kind == Some("array") && !schema.contains_key("items");
    let is_open_object = kind == Some("object") && is_true(schema, PRESERVE_UNKNOWN_FIELDS);
    if is_nullable || is_bare_list || is_open_object {
        schema.remove("type");
    }
}

/// Whether documents of v2 do not describe the fields of a value.
fn is_open(schema: &Map<String, Value>) -> bool {
    is_true(schema, "nullable") || is_true(schema, PRESERVE_UNKNOWN_FIELDS)
}

/// Adds the fields that every object has to a schema's embedded resources.
pub(super) fn add_embedded(schema: &mut Map<String, Value>, target: Target) {
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        add_to_child(property.1, target);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(child) = schema.get_mut(name) {
            add_to_child(child, target);
        }
    }
    let is_open = target == Target::V2 && is_true(schema, PRESERVE_UNKNOWN_FIELDS);
    if is_open || !is_true(schema, EMBEDDED_RESOURCE) {
        return;
    }
    set_property(schema, "apiVersion", text(EMBEDDED_API_VERSION));
    set_property(schema, "kind", text(EMBEDDED_KIND));
    set_property(schema, "metadata", described("ObjectMeta", METADATA));
    let required = schema.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(required) = required.as_array_mut() {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|own| own == name) {
                required.push(name.into());
            }
        }
    }
}

fn add_to_child(child: &mut Value, target: Target) {
    if let Some(child) = child.as_object_mut() {
        add_embedded(child, target);
    }
}

/// Sets a property of a schema.
pub(super) fn set_property(schema: &mut Map<String, Value>, name: &str, property: Value) {
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(name.to_owned(), property);
    }
}
