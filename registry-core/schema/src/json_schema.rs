//! Compiles JSON schemas (schemars' output for a Rust struct, or a CRD's structural schema) to types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use registry_meta::GroupVersionKind;

use super::Schema;
use super::definition::{Definition, type_name, without_nulls};
use super::descriptions::TypeText;
use super::types::{
    Dialect, Field, FieldTraits, KindEntry, ListKind, PatchStrategy, Scalar, Struct, Type, TypeId, TypeShape,
    TypeTable,
};

mod rules;

/// Kubernetes' common types that every schema can use: metadata, times, quantities, selectors.
const META_FACTS: &str = include_str!("meta_v1.facts");

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Compiles a schema into a table.
struct Reader<'a> {
    table: TypeTable,
    /// The targets of `$ref`s.
    definitions: Option<&'a Map<String, Value>>,
    /// Definitions that have been compiled, or are being compiled.
    known: HashMap<&'a str, TypeId>,
    /// Prefix of the OpenAPI names of the custom types, such as `dev.example.zoo.v1`.
    prefix: String,
    version: &'static str,
}

// === impl TypeTable ===

impl TypeTable {
    /// Returns the types of Kubernetes' `meta/v1` and related packages.
    pub fn meta() -> &'static Arc<Self> {
        static META: LazyLock<Arc<TypeTable>> = LazyLock::new(|| {
            // The table is part of this crate and covered by a test, so it is valid.
            Arc::new(TypeTable::parse(META_FACTS).unwrap_or_default())
        });
        &META
    }
}

// === impl Schema ===

impl Schema {
    /// Compiles the JSON schema of a custom struct or a CRD. Metadata becomes Kubernetes' `ObjectMeta`, `apiVersion`
    /// and `kind` are added, `x-kubernetes-*` extensions are supported. Unsupported constructs (unions of objects,
    /// conditions) become any value.
    pub fn from_json_schema(schema: &Value, kind: GroupVersionKind) -> Self {
        let definitions = schema.get("$defs").or_else(|| schema.get("definitions"));
        let mut reader = Reader {
            table: TypeTable { dialect: Dialect::JsonSchema, ..TypeTable::clone(TypeTable::meta()) },
            definitions: definitions.and_then(Value::as_object),
            known: HashMap::new(),
            prefix: prefix(kind),
            version: kind.version,
        };
        reader.table.kinds.clear();
        let root = reader.root(schema, kind);
        let definition = schema.is_object().then(|| Definition::new(schema));
        Self { definition, ..Self::with_root(Arc::new(reader.table.finish()), root) }
    }
}

/// Returns the prefix of OpenAPI names: `dev.example.zoo.v1` for `zoo.example.dev/v1`.
fn prefix(kind: GroupVersionKind) -> String {
    let reversed = kind.group.rsplit('.').filter(|part| !part.is_empty());
    reversed.chain([kind.version]).collect::<Vec<_>>().join(".")
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn root(&mut self, schema: &'a Value, kind: GroupVersionKind) -> TypeId {
        let empty = static_empty();
        let map = schema.as_object().unwrap_or(empty);
        let root = self.structure(map, Some(kind.kind));
        let string = self.push(Type::unnamed("string".into(), TypeShape::Scalar(Scalar::String)));
        let metadata = self.table.names.get(OBJECT_META).copied();
        if let Some(Type { shape: TypeShape::Struct(shape), .. }) = self.table.types.get_mut(root.0 as usize)
        {
            let mut fields = std::mem::take(&mut shape.fields).into_vec();
            fields.retain(|field| !matches!(&*field.name, "apiVersion" | "kind" | "metadata"));
            fields.extend([Field::new("apiVersion", string), Field::new("kind", string)]);
            fields.extend(metadata.map(|metadata| Field {
                traits: FieldTraits { omit_empty: true, ..FieldTraits::default() },
                ..Field::new("metadata", metadata)
            }));
            fields.sort_by(|a, b| a.name.cmp(&b.name));
            shape.fields = fields.into();
        }
        self.table.kinds.push(KindEntry {
            ty: root,
            group: kind.group.into(),
            version: kind.version.into(),
            kind: kind.kind.into(),
        });
        root
    }

    fn push(&mut self, ty: Type) -> TypeId {
        self.table.push(ty)
    }

    /// Returns the type of a schema or reference.
    fn ty(&mut self, schema: &'a Value) -> TypeId {
        let schema = unwrap(schema);
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference),
            None => self.inline(schema),
        }
    }

    fn reference(&mut self, reference: &'a str) -> TypeId {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        if let Some(known) = self.table.names.get(name).or_else(|| self.known.get(name)) {
            return *known;
        }
        let found = self.definitions.and_then(|definitions| definitions.get(name));
        let Some(Value::Object(schema)) = found else { return self.any() };
        if is_structure(schema) {
            return self.structure(schema, Some(name));
        }
        // A definition that is not a struct can be recursive only through a struct, which ends the recursion.
        let id = self.any();
        self.known.insert(name, id);
        let read = self.inline(schema);
        if let Some(ty) = self.table.types.get(read.0 as usize).cloned()
            && let Some(slot) = self.table.types.get_mut(id.0 as usize)
        {
            *slot = ty;
        }
        id
    }

    fn any(&mut self) -> TypeId {
        self.push(Type::unnamed("interface {}".into(), TypeShape::Scalar(Scalar::Any)))
    }

    fn inline(&mut self, schema: &'a Map<String, Value>) -> TypeId {
        if is_structure(schema) {
            return self.structure(schema, None);
        }
        let (go_name, shape): (Arc<str>, TypeShape) = match type_name(schema) {
            Some("array") => self.list(schema),
            Some("object") => self.map(schema),
            _ => {
                let (go_name, scalar) = rules::scalar(schema);
                (go_name.into(), TypeShape::Scalar(scalar))
            }
        };
        let ty = Type::unnamed(go_name, shape);
        self.push(Type { restrictions: restrictions(schema), ..ty })
    }

    fn list(&mut self, schema: &'a Map<String, Value>) -> (Arc<str>, TypeShape) {
        let element = match schema.get("items") {
            Some(items) => self.ty(items),
            None => self.any(),
        };
        let declared = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
        let kind = match declared {
            Some("set") => ListKind::Set,
            Some("map") => ListKind::Map,
            _ => ListKind::Atomic,
        };
        let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        let keys = keys.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect();
        let go_name = format!("[]{}", self.table.get(element).go_name).into();
        (go_name, TypeShape::List { element, kind, keys, declared: declared.is_some() })
    }

    fn map(&mut self, schema: &'a Map<String, Value>) -> (Arc<str>, TypeShape) {
        let value = match schema.get("additionalProperties") {
            Some(value) => self.ty(value),
            None => self.any(),
        };
        let go_name = format!("map[string]{}", self.table.get(value).go_name).into();
        (go_name, TypeShape::Map { value, atomic: is_atomic(schema) })
    }

    fn structure(&mut self, schema: &'a Map<String, Value>, name: Option<&'a str>) -> TypeId {
        let component: Option<Arc<str>> = name.map(|name| format!("{}.{name}", self.prefix).into());
        let go_name: Arc<str> = match name {
            Some(name) => format!("{}.{name}", self.version).into(),
            None => "struct {}".into(),
        };
        let id = self.push(Type::unnamed(go_name, TypeShape::Struct(Struct::default())));
        if let (Some(name), Some(component)) = (name, &component) {
            self.known.insert(name, id);
            self.table.names.insert(Arc::clone(component), id);
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|required| required.iter().any(|entry| entry.as_str() == Some(name)))
        };
        let mut text = TypeText::new(description(schema));
        let mut fields = Vec::new();
        for (field_name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let mut field = self.field(field_name, schema);
            field.traits.required = is_required(field_name);
            fields.push(field);
            text.add_field(field_name, description(unwrap(schema)));
            text.add_field(field_name, schema.as_object().and_then(description));
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let shape = Struct {
            fields: fields.into(),
            atomic: is_atomic(schema),
            keeps_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            ..Struct::default()
        };
        if let Some(slot) = self.table.types.get_mut(id.0 as usize) {
            slot.shape = TypeShape::Struct(shape);
            slot.name.clone_from(&component);
            slot.restrictions = restrictions(schema);
        }
        if let Some(component) = component {
            self.table.descriptions.insert(&component, text);
        }
        id
    }

    fn field(&mut self, name: &str, schema: &'a Value) -> Field {
        let ty = self.ty(schema);
        let outer = schema.as_object().unwrap_or(static_empty());
        let inner = unwrap(schema);
        let find = |key| outer.get(key).or_else(|| inner.get(key));
        let text = |key| find(key).and_then(Value::as_str);
        Field {
            patch_strategy: text("x-kubernetes-patch-strategy")
                .map(PatchStrategy::from_tag)
                .unwrap_or_default(),
            merge_key: text("x-kubernetes-patch-merge-key").map(Into::into),
            // A null default means that there is none.
            default: find("default")
                .filter(|default| !default.is_null())
                .map(|default| Arc::new(without_nulls(default.clone()))),
            restrictions: if std::ptr::eq(outer, inner) && !outer.contains_key("$ref") {
                None
            } else {
                restrictions(outer)
            },
            ..Field::new(name, ty)
        }
    }
}

/// Returns the restrictions of a schema, if it has any.
fn restrictions(schema: &Map<String, Value>) -> Option<Box<Map<String, Value>>> {
    let found = rules::restrictions(schema);
    (!found.is_empty()).then(|| Box::new(found))
}

/// Removes nullability and `allOf`s with a single entry.
fn unwrap(schema: &Value) -> &Map<String, Value> {
    let Some(map) = schema.as_object() else { return static_empty() };
    let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(variants) = map.get(key).and_then(Value::as_array) else { continue };
        let mut real = variants.iter().filter(|variant| !is_null(variant));
        if let (Some(only), None) = (real.next(), real.next()) {
            return unwrap(only);
        }
    }
    map
}

/// Whether the schema describes an object with declared fields.
fn is_structure(schema: &Map<String, Value>) -> bool {
    schema.contains_key("properties")
        || (type_name(schema) == Some("object") && !schema.contains_key("additionalProperties"))
}

fn is_atomic(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic")
}

fn flag(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn description(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

fn static_empty() -> &'static Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    &EMPTY
}
