//! OpenAPI v3 components of types, as used by `kubectl explain` and client-side apply.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Schema;
use super::descriptions::TypeText;
use super::types::{Field, ListKind, Scalar, Struct, Type, TypeId, TypeShape, TypeTable};

pub use super::descriptions::{Descriptions, DescriptionsError};

/// Returns the components (`components.schemas`) of these schemas and of every type they use.
pub fn components(schemas: &[&Schema], descriptions: Option<&Descriptions>) -> Map<String, Value> {
    let mut components = Map::new();
    for schema in schemas {
        let writer = Writer { table: &schema.table, descriptions };
        for id in reachable(&schema.table, schema.root) {
            let ty = schema.table.get(id);
            if let Some(name) = &ty.name {
                components.entry(&**name).or_insert_with(|| writer.component(id, ty, name));
            }
        }
    }
    components
}

/// Returns all types reachable from a type, including itself.
fn reachable(table: &TypeTable, root: TypeId) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        match &table.get(id).shape {
            TypeShape::Scalar(_) => {}
            TypeShape::Struct(shape) => open.extend(shape.fields.iter().map(|field| field.ty)),
            TypeShape::List { element: next, .. }
            | TypeShape::Map { value: next, .. }
            | TypeShape::SchemaOr { schema: next, .. } => open.push(*next),
        }
    }
    found
}

struct Writer<'a> {
    table: &'a TypeTable,
    descriptions: Option<&'a Descriptions>,
}

// === impl Writer ===

impl Writer<'_> {
    /// Returns the component of a type.
    fn component(&self, id: TypeId, ty: &Type, name: &str) -> Value {
        let text = self.text(name);
        let mut schema = match &ty.shape {
            TypeShape::Struct(shape) => self.structure(shape, text),
            TypeShape::Scalar(scalar) => named_scalar(*scalar, name),
            _ => Map::new(),
        };
        put_restrictions(&mut schema, ty.restrictions.as_deref());
        if let Some(text) = text {
            put_text(&mut schema, text.about());
            if let Some(unions) = text.unions() {
                schema.insert("x-kubernetes-unions".to_owned(), unions.clone());
            }
        }
        let kinds: Vec<Value> = (self.table.kinds.iter().filter(|entry| entry.ty == id))
            .map(|entry| json!({"group": &*entry.group, "version": &*entry.version, "kind": &*entry.kind}))
            .collect();
        if !kinds.is_empty() {
            schema.insert("x-kubernetes-group-version-kind".to_owned(), kinds.into());
        }
        Value::Object(schema)
    }

    fn text(&self, name: &str) -> Option<&TypeText> {
        let given = self.descriptions.and_then(|descriptions| descriptions.get(name));
        given.or_else(|| self.table.descriptions.get(name))
    }

    fn structure(&self, shape: &Struct, text: Option<&TypeText>) -> Map<String, Value> {
        let mut schema = object([("type", "object".into())]);
        let properties: Map<String, Value> = (shape.fields.iter())
            .map(|field| (field.name.to_string(), Value::Object(self.property(field, text))))
            .collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), properties.into());
        }
        let required = shape.fields.iter().filter(|field| field.traits.required);
        let required: Vec<Value> = required.map(|field| (&*field.name).into()).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if shape.atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        if shape.keeps_unknown {
            schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        schema
    }

    /// Returns the schema of a field of a type with these texts.
    fn property(&self, field: &Field, text: Option<&TypeText>) -> Map<String, Value> {
        let ty = self.table.get(field.ty);
        let mut extra = Map::new();
        put_text(&mut extra, text.and_then(|text| text.field(&field.name)));
        put_restrictions(&mut extra, field.restrictions.as_deref());
        if let Some(default) = field.default.as_deref().cloned().or_else(|| implied_default(field, ty)) {
            extra.insert("default".to_owned(), default);
        }
        if let Some(key) = &field.merge_key {
            extra.insert("x-kubernetes-patch-merge-key".to_owned(), (&**key).into());
        }
        let strategy = field.patch_strategy;
        let flags =
            [(strategy.merge, "merge"), (strategy.replace, "replace"), (strategy.retain_keys, "retainKeys")];
        let flags: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        if !flags.is_empty() {
            extra.insert("x-kubernetes-patch-strategy".to_owned(), flags.join(",").into());
        }
        match (field.atomic, &ty.shape) {
            (Some(_), TypeShape::Scalar(_)) => put(&mut extra, "x-kubernetes-list-type", "atomic"),
            (Some(true), _) => put(&mut extra, "x-kubernetes-map-type", "atomic"),
            (Some(false), _) => put(&mut extra, "x-kubernetes-map-type", "granular"),
            (None, _) => {}
        }
        let mut schema = self.reference(ty);
        // OpenAPI 3.0 ignores siblings of a `$ref`.
        if !extra.is_empty() && schema.contains_key("$ref") {
            schema = object([("allOf", json!([schema]))]);
        }
        schema.append(&mut extra);
        if let Some(values) = text.and_then(|text| text.values(&field.name)) {
            put_enum(&mut schema, values);
        }
        schema
    }

    /// Returns the schema of a type where it is used: a reference if it is a component.
    fn reference(&self, ty: &Type) -> Map<String, Value> {
        if let Some(name) = &ty.name {
            return object([("$ref", format!("#/components/schemas/{name}").into())]);
        }
        let mut schema = match &ty.shape {
            TypeShape::Struct(shape) => self.structure(shape, None),
            TypeShape::Scalar(scalar) => plain_scalar(*scalar),
            TypeShape::SchemaOr { .. } => Map::new(),
            TypeShape::List { element, kind, keys, declared } => {
                let items = self.reference(self.table.get(*element));
                let mut list = object([("type", "array".into()), ("items", items.into())]);
                if *declared {
                    put(&mut list, "x-kubernetes-list-type", list_type(*kind));
                }
                if !keys.is_empty() {
                    let keys: Vec<Value> = keys.iter().map(|key| (&**key).into()).collect();
                    list.insert("x-kubernetes-list-map-keys".to_owned(), keys.into());
                }
                list
            }
            TypeShape::Map { value, atomic } => {
                let values = self.reference(self.table.get(*value));
                let mut map = object([("type", "object".into()), ("additionalProperties", values.into())]);
                if *atomic {
                    put(&mut map, "x-kubernetes-map-type", "atomic");
                }
                map
            }
        };
        put_restrictions(&mut schema, ty.restrictions.as_deref());
        schema
    }
}

const fn list_type(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Atomic => "atomic",
        ListKind::Set => "set",
        ListKind::Map => "map",
    }
}

/// Returns the default in the schema of a field that Go always writes, even if empty.
fn implied_default(field: &Field, ty: &Type) -> Option<Value> {
    if field.traits.pointer {
        return None;
    }
    match &ty.shape {
        TypeShape::Struct(_) => Some(json!({})),
        TypeShape::Scalar(_) if ty.name.is_some() => None,
        TypeShape::Scalar(_) if field.traits.omit_empty => None,
        TypeShape::Scalar(Scalar::String) => Some("".into()),
        TypeShape::Scalar(Scalar::Bool) => Some(false.into()),
        TypeShape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Double) => Some(0.into()),
        _ => None,
    }
}

/// Returns the component of a named scalar.
fn named_scalar(scalar: Scalar, name: &str) -> Map<String, Value> {
    match scalar {
        Scalar::Quantity => object([("oneOf", json!([{"type": "string"}, {"type": "number"}]))]),
        Scalar::IntOrString => object([
            ("format", "int-or-string".into()),
            ("oneOf", json!([{"type": "integer"}, {"type": "string"}])),
        ]),
        // CRDs' JSON can have any type; raw extensions and field sets are objects.
        Scalar::Raw if name.rsplit('.').next() != Some("JSON") => object([("type", "object".into())]),
        other => plain_scalar(other),
    }
}

fn plain_scalar(scalar: Scalar) -> Map<String, Value> {
    let (kind, format) = match scalar {
        Scalar::Any | Scalar::Raw => return Map::new(),
        Scalar::Bool => ("boolean", None),
        Scalar::Int32 => ("integer", Some("int32")),
        Scalar::Int64 => ("integer", Some("int64")),
        Scalar::Double => ("number", Some("double")),
        Scalar::String => ("string", None),
        Scalar::Bytes => ("string", Some("byte")),
        Scalar::Time | Scalar::MicroTime => ("string", Some("date-time")),
        Scalar::Quantity | Scalar::IntOrString => return named_scalar(scalar, ""),
    };
    let mut schema = object([("type", kind.into())]);
    if let Some(format) = format {
        put(&mut schema, "format", format);
    }
    schema
}

fn put_restrictions(schema: &mut Map<String, Value>, restrictions: Option<&Map<String, Value>>) {
    for (key, value) in restrictions.into_iter().flatten() {
        schema.insert(key.clone(), value.clone());
    }
}

/// Adds the values of an enumerated field to its schema, or to that of its elements.
fn put_enum(schema: &mut Map<String, Value>, values: &[Value]) {
    for inner in ["items", "additionalProperties"] {
        if let Some(Value::Object(elements)) = schema.get_mut(inner) {
            elements.insert("enum".to_owned(), values.into());
            return;
        }
    }
    schema.insert("enum".to_owned(), values.into());
}

fn put_text(schema: &mut Map<String, Value>, text: Option<&str>) {
    if let Some(text) = text {
        put(schema, "description", text);
    }
}

fn put(schema: &mut Map<String, Value>, key: &str, value: &str) {
    schema.insert(key.to_owned(), value.into());
}

fn object<const COUNT: usize>(entries: [(&str, Value); COUNT]) -> Map<String, Value> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
