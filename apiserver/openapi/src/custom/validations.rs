//! The validations of values in schemas of definitions.

use serde_json::{Map, Value, json};

use super::extensions::{self, INT_OR_STRING, is_set, is_true};
use super::structural::{Levels, copy_generics, is_convertible};

/// The restrictions of one value.
const SCALARS: [&str; 12] = [
    "format",
    "maximum",
    "minimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "multipleOf",
    "maxProperties",
    "minProperties",
    "required",
];
const FLAGS: [&str; 3] = ["exclusiveMaximum", "exclusiveMinimum", "uniqueItems"];

/// Copies the restrictions of the value itself.
pub(super) fn copy(from: &mut Map<String, Value>, to: &mut Map<String, Value>) {
    for name in SCALARS {
        if let Some(value) = from.remove(name).filter(is_set) {
            to.insert(name.to_owned(), value);
        }
    }
    for name in FLAGS {
        if is_true(from, name) {
            to.insert(name.to_owned(), true.into());
        }
    }
    if let Some(values) = from.remove("enum").filter(is_set) {
        to.insert("enum".to_owned(), values);
    }
}

/// Copies `allOf`, `anyOf`, `oneOf` and `not`; `None` if a schema in them has no structural form.
pub(super) fn copy_junctors(
    from: &mut Map<String, Value>,
    to: &mut Map<String, Value>,
    levels: Levels,
) -> Option<()> {
    for name in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = from.remove(name).filter(is_set) {
            let schemas: Option<Vec<Value>> =
                schemas.into_iter().map(|schema| nested(schema, levels.next()?).map(Value::Object)).collect();
            to.insert(name.to_owned(), schemas?.into());
        }
    }
    if let Some(schema) = from.remove("not").filter(|value| !value.is_null()) {
        to.insert("not".to_owned(), nested(schema, levels.next()?)?.into());
    }
    Some(())
}

/// Returns a schema inside of a junctor, which restricts values and does not describe them.
fn nested(schema: Value, levels: Levels) -> Option<Map<String, Value>> {
    let Value::Object(mut from) = schema else { return None };
    if !is_convertible(&from) {
        return None;
    }
    let mut to = Map::new();
    copy(&mut from, &mut to);
    copy_junctors(&mut from, &mut to, levels)?;
    extensions::copy_rules(&mut from, &mut to);
    if let Some(item) = from.remove("items").filter(|value| !value.is_null()) {
        to.insert("items".to_owned(), nested(item, levels.next()?)?.into());
    }
    if let Some(Value::Object(properties)) = from.remove("properties").filter(is_set) {
        let mut copies = Map::new();
        for (name, property) in properties {
            copies.insert(name, nested(property, levels.next()?)?.into());
        }
        to.insert("properties".to_owned(), copies.into());
    }
    // Only the types of an integer or string occur in a structural schema.
    copy_generics(&mut from, &mut to);
    extensions::copy(&mut from, &mut to);
    Some(to)
}

/// Adds the types of a value that is an integer or a string, unless the schema has them already.
pub(super) fn unfold(schema: &mut Map<String, Value>) {
    if !is_true(schema, INT_OR_STRING) {
        return;
    }
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let of_first = schema.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf"));
    if schema.get("anyOf") == Some(&types) || of_first == Some(&types) {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), types);
        return;
    }
    let all = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.insert(0, json!({ "anyOf": types }));
    }
}
