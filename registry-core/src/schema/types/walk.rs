//! References into a table, for engines that walk objects beside their types.

use std::sync::Arc;

use serde_json::Value;

use super::{Dialect, Field, ListKind, PatchStrategy, Scalar, SchemaOr, Type, TypeShape, TypeTable};

/// One type of a table.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'a> {
    pub(super) table: &'a TypeTable,
    pub(super) ty: &'a Type,
    /// What the field that led here says about [`TypeRef::is_atomic`].
    pub(super) atomic: Option<bool>,
}

/// One field of a struct type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'a> {
    pub(super) table: &'a TypeTable,
    pub(super) field: &'a Field,
}

// === impl TypeRef ===

impl<'a> TypeRef<'a> {
    /// The field with this JSON name; `None` when this is no struct or has no such field.
    pub fn field(&self, name: &str) -> Option<FieldRef<'a>> {
        let TypeShape::Struct(shape) = &self.ty.shape else { return None };
        Some(FieldRef { table: self.table, field: shape.field(name)? })
    }

    /// The same, for whoever asks for names in their order: `place` is where the last field was found.
    pub(crate) fn next_field(&self, name: &str, place: &mut usize) -> Option<FieldRef<'a>> {
        let TypeShape::Struct(shape) = &self.ty.shape else { return None };
        Some(FieldRef { table: self.table, field: shape.next_field(name, place)? })
    }

    /// All fields, sorted by JSON name; none when this is no struct.
    pub fn fields(&self) -> impl Iterator<Item = FieldRef<'a>> + use<'a> {
        let table = self.table;
        let fields = match &self.ty.shape {
            TypeShape::Struct(shape) => &*shape.fields,
            _ => &[],
        };
        fields.iter().map(move |field| FieldRef { table, field })
    }

    /// The element type; `None` when this is no list.
    pub fn element(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            TypeShape::List { element, .. } => Some(self.table.type_ref(*element)),
            _ => None,
        }
    }

    /// The type of a map's values; `None` when this is no map.
    pub fn value(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            TypeShape::Map { value, .. } => Some(self.table.type_ref(*value)),
            _ => None,
        }
    }

    /// The format of a single value; `None` when this is no scalar.
    pub fn scalar(&self) -> Option<Scalar> {
        match &self.ty.shape {
            TypeShape::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// The JSON schema type, and what may stand in its place; `None` for all else.
    pub fn schema_or(&self) -> Option<(TypeRef<'a>, SchemaOr)> {
        match &self.ty.shape {
            TypeShape::SchemaOr { schema, or } => Some((self.table.type_ref(*schema), *or)),
            _ => None,
        }
    }

    /// How a list's elements are told apart; `None` when this is no list.
    pub fn list_kind(&self) -> Option<ListKind> {
        match &self.ty.shape {
            TypeShape::List { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// The fields that tell a keyed list's elements apart, in declared order; empty for all else.
    pub fn list_keys(&self) -> &'a [Arc<str>] {
        match &self.ty.shape {
            TypeShape::List { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Whether server-side apply treats the whole value as one: scalars, atomic lists, maps and structs.
    pub fn is_atomic(&self) -> bool {
        match &self.ty.shape {
            TypeShape::Scalar(_) | TypeShape::SchemaOr { .. } => true,
            TypeShape::Struct(shape) => self.atomic.unwrap_or(shape.atomic),
            TypeShape::List { kind, .. } => *kind == ListKind::Atomic,
            TypeShape::Map { atomic, .. } => self.atomic.unwrap_or(*atomic),
        }
    }

    /// Whether server-side apply takes maps found here apart although nothing is known of them: so it is with
    /// whatever an author's schema leaves open. (Kubernetes' own open fields are one value each.)
    pub fn is_open(&self) -> bool {
        matches!(self.ty.shape, TypeShape::Scalar(Scalar::Any)) && self.table.dialect == Dialect::JsonSchema
    }

    /// Whether this is a struct.
    pub fn is_struct(&self) -> bool {
        matches!(self.ty.shape, TypeShape::Struct(_))
    }

    /// Whether a struct keeps fields the schema does not know.
    pub fn keeps_unknown(&self) -> bool {
        matches!(&self.ty.shape, TypeShape::Struct(shape) if shape.keeps_unknown)
    }

    /// The OpenAPI name, such as `io.k8s.api.core.v1.Pod`; `None` when this is no component of its own.
    pub fn name(&self) -> Option<&'a str> {
        self.ty.name.as_deref()
    }

    /// The Go type as decoding errors name it: `v1.PodSpec`, `[]string`, `int32`.
    pub fn go_name(&self) -> &'a str {
        &self.ty.go_name
    }
}

// === impl FieldRef ===

impl<'a> FieldRef<'a> {
    /// The field's JSON name.
    pub fn name(&self) -> &'a str {
        &self.field.name
    }

    /// The field's type.
    pub fn ty(&self) -> TypeRef<'a> {
        TypeRef { atomic: self.field.atomic, ..self.table.type_ref(self.field.ty) }
    }

    /// How a strategic merge patch treats the field.
    pub fn patch_strategy(&self) -> PatchStrategy {
        self.field.patch_strategy
    }

    /// The field by which a strategic merge patch tells list elements apart.
    pub fn merge_key(&self) -> Option<&'a str> {
        self.field.merge_key.as_deref()
    }

    /// Whether the Go field is a pointer: absent and zero are different things.
    pub fn is_pointer(&self) -> bool {
        self.field.traits.pointer
    }

    /// Whether a zero (empty list, empty map) is left out of JSON.
    pub fn omits_empty(&self) -> bool {
        self.field.traits.omit_empty
    }

    /// Whether the schema lists the field as required.
    pub fn is_required(&self) -> bool {
        self.field.traits.required
    }

    /// The schema's default, when the field is absent.
    pub fn default(&self) -> Option<&'a Value> {
        self.field.default.as_deref()
    }

    /// What JSON has in the place of the field when it is absent; `None`: nothing.
    pub(crate) fn absent(&self) -> Option<Value> {
        self.table.absent(self.field)
    }

    /// Field numbers in protobuf: the last is the field's own, those before it lead through the messages Go
    /// inlines. Empty when protobuf does not have the field.
    pub fn protobuf_path(&self) -> &'a [u32] {
        &self.field.proto
    }
}
