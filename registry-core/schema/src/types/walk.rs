//! References into a table, for algorithms that traverse objects with their types.

use std::sync::Arc;

use serde_json::Value;

use super::{Dialect, Field, ListKind, PatchStrategy, Scalar, SchemaOr, Type, TypeShape, TypeTable};

/// A type of a table.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'a> {
    pub(super) table: &'a TypeTable,
    pub(super) ty: &'a Type,
    /// The override of [`TypeRef::is_atomic`] by the field that led here.
    pub(super) atomic: Option<bool>,
}

/// A field of a struct type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'a> {
    pub(super) table: &'a TypeTable,
    pub(super) field: &'a Field,
}

// === impl TypeRef ===

impl<'a> TypeRef<'a> {
    /// Returns the field with this JSON name; `None` if this is not a struct or has no such field.
    pub fn field(&self, name: &str) -> Option<FieldRef<'a>> {
        let TypeShape::Struct(shape) = &self.ty.shape else { return None };
        Some(FieldRef { table: self.table, field: shape.field(name)? })
    }

    /// Like [`field`](Self::field), for sorted names: `place` is the index of the previous field.
    pub fn next_field(&self, name: &str, place: &mut usize) -> Option<FieldRef<'a>> {
        let TypeShape::Struct(shape) = &self.ty.shape else { return None };
        Some(FieldRef { table: self.table, field: shape.next_field(name, place)? })
    }

    /// Returns all fields, sorted by JSON name; none if this is not a struct.
    pub fn fields(&self) -> impl Iterator<Item = FieldRef<'a>> + use<'a> {
        let table = self.table;
        let fields = match &self.ty.shape {
            TypeShape::Struct(shape) => &*shape.fields,
            _ => &[],
        };
        fields.iter().map(move |field| FieldRef { table, field })
    }

    /// Returns the element type; `None` if this is not a list.
    pub fn element(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            TypeShape::List { element, .. } => Some(self.table.type_ref(*element)),
            _ => None,
        }
    }

    /// Returns the value type; `None` if this is not a map.
    pub fn value(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            TypeShape::Map { value, .. } => Some(self.table.type_ref(*value)),
            _ => None,
        }
    }

    /// Returns the scalar format; `None` if this is not a scalar.
    pub fn scalar(&self) -> Option<Scalar> {
        match &self.ty.shape {
            TypeShape::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Returns the JSON schema type and its alternative; `None` for other types.
    pub fn schema_or(&self) -> Option<(TypeRef<'a>, SchemaOr)> {
        match &self.ty.shape {
            TypeShape::SchemaOr { schema, or } => Some((self.table.type_ref(*schema), *or)),
            _ => None,
        }
    }

    /// Returns the kind of list; `None` if this is not a list.
    pub fn list_kind(&self) -> Option<ListKind> {
        match &self.ty.shape {
            TypeShape::List { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// Returns the key fields of a keyed list, in declared order; empty for other types.
    pub fn list_keys(&self) -> &'a [Arc<str>] {
        match &self.ty.shape {
            TypeShape::List { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Whether server-side apply treats the value as a unit: scalars, atomic lists, maps and structs.
    pub fn is_atomic(&self) -> bool {
        match &self.ty.shape {
            TypeShape::Scalar(_) | TypeShape::SchemaOr { .. } => true,
            TypeShape::Struct(shape) => self.atomic.unwrap_or(shape.atomic),
            TypeShape::List { kind, .. } => *kind == ListKind::Atomic,
            TypeShape::Map { atomic, .. } => self.atomic.unwrap_or(*atomic),
        }
    }

    /// Whether server-side apply manages the keys of maps without a schema separately, as in the open fields of custom
    /// schemas. (Kubernetes' own open fields are one value each.)
    pub fn is_open(&self) -> bool {
        matches!(self.ty.shape, TypeShape::Scalar(Scalar::Any)) && self.table.dialect == Dialect::JsonSchema
    }

    /// Whether this is a struct.
    pub fn is_struct(&self) -> bool {
        matches!(self.ty.shape, TypeShape::Struct(_))
    }

    /// Whether a struct keeps unknown fields.
    pub fn keeps_unknown(&self) -> bool {
        matches!(&self.ty.shape, TypeShape::Struct(shape) if shape.keeps_unknown)
    }

    /// Returns the OpenAPI name, such as `io.k8s.api.core.v1.Pod`; `None` if this is not a component.
    pub fn name(&self) -> Option<&'a str> {
        self.ty.name.as_deref()
    }

    /// Returns the Go type as named in decoding errors: `v1.PodSpec`, `[]string`, `int32`.
    pub fn go_name(&self) -> &'a str {
        &self.ty.go_name
    }
}

// === impl FieldRef ===

impl<'a> FieldRef<'a> {
    /// Returns the field's JSON name.
    pub fn name(&self) -> &'a str {
        &self.field.name
    }

    /// Returns the field's type.
    pub fn ty(&self) -> TypeRef<'a> {
        TypeRef { atomic: self.field.atomic, ..self.table.type_ref(self.field.ty) }
    }

    /// Returns how a strategic merge patch treats the field.
    pub fn patch_strategy(&self) -> PatchStrategy {
        self.field.patch_strategy
    }

    /// Returns the merge key of a strategic merge patch.
    pub fn merge_key(&self) -> Option<&'a str> {
        self.field.merge_key.as_deref()
    }

    /// Whether the Go field is a pointer, so that absent and zero differ.
    pub fn is_pointer(&self) -> bool {
        self.field.traits.pointer
    }

    /// Whether a zero (empty list, empty map) is omitted from JSON.
    pub fn omits_empty(&self) -> bool {
        self.field.traits.omit_empty
    }

    /// Whether the schema lists the field as required.
    pub fn is_required(&self) -> bool {
        self.field.traits.required
    }

    /// Returns the schema's default.
    pub fn default(&self) -> Option<&'a Value> {
        self.field.default.as_deref()
    }

    /// Returns the JSON form of the field if it is absent; `None` if it is omitted.
    pub(crate) fn absent(&self) -> Option<Value> {
        self.table.absent(self.field)
    }

    /// Returns the protobuf field numbers: the last is the field's own, the preceding ones lead through the messages
    /// that Go inlines. Empty if protobuf does not have the field.
    pub fn protobuf_path(&self) -> &'a [u32] {
        &self.field.proto
    }
}
