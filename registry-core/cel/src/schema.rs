//! Declared types from JSON schemas, with the sizes that costs are estimated from.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::field_names::escape;
use super::syntax::ast::Name;
use super::types::{DeclType, Field, ListKind, ObjectType, Shape, member_name};

/// Maximum size in bytes of a request, from which the sizes of unbounded values are estimated.
const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;
/// The longest duration in JSON.
const MAX_DURATION_BYTES: u64 = 32;
/// The shortest duration in JSON.
const MIN_DURATION_BYTES: u64 = 3;
/// A date in JSON.
const DATE_BYTES: u64 = 12;
/// The longest timestamp in JSON.
const MAX_DATE_TIME_BYTES: u64 = 32;
/// The shortest timestamp in JSON.
const MIN_DATE_TIME_BYTES: u64 = 21;
/// An empty text in JSON.
const MIN_STRING_BYTES: u64 = 2;
/// `true` in JSON.
const MIN_BOOL_BYTES: u64 = 4;
/// An empty list, map or object in JSON.
const EMPTY_BYTES: u64 = 2;

/// Declares the type of a structural schema; `None` if expressions cannot see its values.
///
/// `name` is the name of the type in messages, if it is an object. At the root of a resource and of embedded ones,
/// `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are always there.
pub fn declare(schema: &Json, name: &str, is_resource_root: bool) -> Option<DeclType> {
    let declared = declare_value(schema.as_object()?, name, is_resource_root)?;
    let nullable = flag(schema, "nullable");
    Some(declared.with_nullable(nullable))
}

/// The number of values with a smallest size that fit into a request.
pub fn max_cardinality(declared: &DeclType) -> u64 {
    MAX_REQUEST_BYTES / (declared.min_serialized_size + 1)
}

fn flag(schema: &Json, name: &str) -> bool {
    schema.get(name).and_then(Json::as_bool).unwrap_or(false)
}

fn limit(schema: &Map<String, Json>, name: &str) -> Option<u64> {
    let value = schema.get(name)?;
    value.as_u64().or_else(|| value.as_i64().map(|_| 0))
}

fn declare_value(schema: &Map<String, Json>, name: &str, is_resource_root: bool) -> Option<DeclType> {
    let is = |extension: &str| schema.get(extension).and_then(Json::as_bool).unwrap_or(false);
    if is("x-kubernetes-int-or-string") {
        let max = limit(schema, "maxLength").map_or(MAX_REQUEST_BYTES - 2, |length| length.saturating_mul(4));
        return Some(DeclType::new(Shape::Dyn).with_max_elements(max).with_min_serialized_size(1));
    }
    match schema.get("type").and_then(Json::as_str)? {
        "array" => declare_list(schema, name),
        "object" => declare_object(schema, name, is_resource_root),
        "string" => Some(declare_string(schema)),
        "boolean" => Some(DeclType::new(Shape::Bool).with_min_serialized_size(MIN_BOOL_BYTES)),
        "number" => Some(DeclType::new(Shape::Double).with_min_serialized_size(1)),
        "integer" => Some(DeclType::new(Shape::Int).with_min_serialized_size(1)),
        _ => None,
    }
}

fn declare_list(schema: &Map<String, Json>, name: &str) -> Option<DeclType> {
    let items = schema.get("items")?;
    let item = declare(items, &member_name(name, "@idx"), flag(items, "x-kubernetes-embedded-resource"))?;
    let max = limit(schema, "maxItems").unwrap_or((MAX_REQUEST_BYTES - 2) / (item.min_serialized_size + 1));
    let kind = match schema.get("x-kubernetes-list-type").and_then(Json::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Json::as_array);
            let keys = keys.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned);
            ListKind::Map(keys.collect())
        }
        _ => ListKind::Atomic,
    };
    let shape = Shape::List(Arc::new(item), kind);
    Some(DeclType::new(shape).with_max_elements(max).with_min_serialized_size(EMPTY_BYTES))
}

fn declare_object(schema: &Map<String, Json>, name: &str, is_resource_root: bool) -> Option<DeclType> {
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        let value =
            declare(values, &member_name(name, "@elem"), flag(values, "x-kubernetes-embedded-resource"))?;
        let max = limit(schema, "maxProperties")
            .unwrap_or((MAX_REQUEST_BYTES - 2) / (value.min_serialized_size + 6));
        let shape = Shape::Map(Arc::new(value));
        return Some(DeclType::new(shape).with_max_elements(max).with_min_serialized_size(EMPTY_BYTES));
    }
    let required: HashSet<_> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let mut fields = BTreeMap::new();
    let mut min_size = EMPTY_BYTES;
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
    let replaced = is_resource_root && !has_type_and_metadata(properties);
    for (json_name, property) in properties {
        if replaced && matches!(json_name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let escaped = escape(json_name);
        let type_name = member_name(name, escaped.as_deref().unwrap_or(json_name));
        let Some(declared) = declare(property, &type_name, flag(property, "x-kubernetes-embedded-resource"))
        else {
            continue;
        };
        // Defaults are filled in by the server, so that they take no bytes of a request.
        if required.contains(&json_name.as_str()) && property.get("default").is_none() {
            min_size += json_name.len() as u64 + declared.min_serialized_size + 4;
        }
        if let Some(escaped) = escaped {
            fields.insert(Name::from(escaped), Field { json_name: Name::from(json_name.as_str()), declared });
        }
    }
    if replaced {
        add_type_and_metadata(&mut fields, name);
    }
    let shape = Shape::Object(Arc::new(ObjectType::new(name, fields)));
    Some(DeclType::new(shape).with_min_serialized_size(min_size))
}

fn has_type_and_metadata(properties: &Map<String, Json>) -> bool {
    let is = |schema: Option<&Json>, of: &str| {
        schema.and_then(|schema| schema.get("type")).and_then(Json::as_str) == Some(of)
    };
    let metadata = properties.get("metadata");
    let name = metadata.and_then(|metadata| metadata.pointer("/properties/name"));
    let generate_name = metadata.and_then(|metadata| metadata.pointer("/properties/generateName"));
    is(properties.get("kind"), "string")
        && is(properties.get("apiVersion"), "string")
        && is(metadata, "object")
        && is(name, "string")
        && is(generate_name, "string")
}

fn add_type_and_metadata(fields: &mut BTreeMap<Name, Field>, name: &str) {
    let text =
        || DeclType::new(Shape::String).with_max_elements(MAX_REQUEST_BYTES - 2).with_min_serialized_size(2);
    let field = |json_name: &str, declared| {
        (Name::from(json_name), Field { json_name: Name::from(json_name), declared })
    };
    let metadata = BTreeMap::from([field("generateName", text()), field("name", text())]);
    let metadata = ObjectType::new(&member_name(name, "metadata"), metadata);
    let metadata = DeclType::new(Shape::Object(Arc::new(metadata))).with_min_serialized_size(EMPTY_BYTES);
    fields.extend([field("apiVersion", text()), field("kind", text()), field("metadata", metadata)]);
}

fn declare_string(schema: &Map<String, Json>) -> DeclType {
    let max_length = limit(schema, "maxLength");
    let (shape, max, min) = match schema.get("format").and_then(Json::as_str) {
        Some("byte") => (Shape::Bytes, max_length.unwrap_or(MAX_REQUEST_BYTES - 2), MIN_STRING_BYTES),
        Some("duration") => (Shape::Duration, MAX_DURATION_BYTES, MIN_DURATION_BYTES),
        Some("date") => (Shape::Date, DATE_BYTES, DATE_BYTES),
        Some("date-time") => (Shape::DateTime, MAX_DATE_TIME_BYTES, MIN_DATE_TIME_BYTES),
        _ => {
            let values = schema.get("enum").and_then(Json::as_array).filter(|values| !values.is_empty());
            let longest =
                values.map(|values| values.iter().filter_map(Json::as_str).map(str::len).max().unwrap_or(0));
            let max = match (max_length, longest) {
                (Some(length), _) => length.saturating_mul(4),
                (None, Some(longest)) => longest as u64,
                (None, None) => MAX_REQUEST_BYTES - 2,
            };
            (Shape::String, max, MIN_STRING_BYTES)
        }
    };
    DeclType::new(shape).with_max_elements(max).with_min_serialized_size(min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Type;
    use serde_json::json;

    #[test]
    fn sizes_come_from_limits_or_from_what_fits_a_request() {
        let declared = |schema: Json| declare(&schema, "t", false).unwrap();
        assert_eq!(declared(json!({"type": "string"})).max_elements, Some(3_145_726));
        assert_eq!(declared(json!({"type": "string", "maxLength": 10})).max_elements, Some(40));
        assert_eq!(declared(json!({"type": "string", "enum": ["a", "abc"]})).max_elements, Some(3));
        assert_eq!(
            declared(json!({"type": "array", "items": {"type": "integer"}})).max_elements,
            Some(1_572_863)
        );
        let object = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
        assert_eq!(declared(object).min_serialized_size, 2 + 1 + 2 + 4);
        assert!(declare(&json!({"x-kubernetes-preserve-unknown-fields": true}), "t", false).is_none());
    }

    #[test]
    fn names_of_types_below_a_long_name_are_short_and_differ() {
        let long = "a".repeat(1 << 20);
        let empty = json!({"type": "object"});
        let inner =
            json!({"type": "object", "properties": {"b": empty, "c": {"type": "array", "items": empty}}});
        let declared = declare(&json!({"type": "object", "properties": {long: inner}}), "t", false).unwrap();
        for declared in [declared.renamed("u"), declared] {
            let Type::Object(outer) = declared.cel_type() else { panic!("an object is declared") };
            let (_, inner) = outer.fields().next().unwrap();
            let Type::Object(inner) = inner.declared.cel_type() else { panic!("an object is declared") };
            let names: Vec<_> =
                inner.fields().map(|(_, field)| field.declared.cel_type().to_string()).collect();
            assert!(names.iter().all(|name| name.len() < 100) && names[0] != names[1], "{names:?}");
        }
    }

    #[test]
    fn resources_have_a_kind_and_a_name() {
        let schema = json!({"type": "object", "properties": {"metadata": {"type": "object"}}});
        let Shape::Object(object) = declare(&schema, "t", true).unwrap().shape else {
            panic!("an object is declared");
        };
        let fields: Vec<_> = object.fields().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(fields, ["apiVersion", "kind", "metadata"]);
    }
}
