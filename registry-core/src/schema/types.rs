//! The arena of types, and references into it for engines that walk objects.

use std::sync::Arc;

use serde_json::Value;

/// Types that refer to each other, shared by all kinds that use them.
#[derive(Debug, Default)]
pub struct TypeTable {
    pub(super) types: Vec<Type>,
}

/// One type's place in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeId(pub(super) u32);

/// One type.
#[derive(Debug)]
pub(super) struct Type {
    /// The Go type as decoding errors name it: `v1.PodSpec`, `[]string`, `int32`.
    pub(super) go_name: Arc<str>,
    /// What it looks like.
    pub(super) shape: Shape,
}

/// What a type looks like.
#[derive(Debug)]
pub(super) enum Shape {
    /// One value, or a tree the schema does not look into.
    Scalar(Scalar),
    /// A struct.
    Struct(Struct),
    /// A list.
    List { element: TypeId, kind: ListKind, keys: Box<[Arc<str>]> },
    /// A map with string keys.
    Map { value: TypeId, atomic: bool },
}

/// Formats of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Any JSON at all: raw extensions, table cells.
    Any,
    /// A boolean.
    Bool,
    /// A string.
    String,
}

/// A struct's fields, sorted by their JSON names.
#[derive(Debug)]
pub(super) struct Struct {
    pub(super) fields: Box<[Field]>,
    /// Replaced as a whole by server-side apply (`+structType=atomic`).
    pub(super) atomic: bool,
}

/// One field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) ty: TypeId,
    pub(super) pointer: bool,
    pub(super) omit_empty: bool,
    pub(super) patch_strategy: PatchStrategy,
    pub(super) merge_key: Option<Arc<str>>,
    pub(super) default: Option<Box<Value>>,
}

/// Who owns what of a list, for server-side apply (`+listType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The list is one value.
    Atomic,
    /// Each element, a scalar, stands for itself.
    Set,
    /// Elements are structs told apart by their key fields.
    Map,
}

/// How a strategic merge patch treats a field (Go's `patchStrategy` tag). None of the flags: structs and maps
/// are merged, lists replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// `replace`: the patch's value takes the place of the present one.
    pub replace: bool,
    /// `merge`: the lists are merged, by merge key or, for scalars, as sets.
    pub merge: bool,
    /// `retainKeys`: of the present value, only the keys the patch lists are kept.
    pub retain_keys: bool,
}

/// One type of a table.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'a> {
    table: &'a TypeTable,
    ty: &'a Type,
}

/// One field of a struct type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'a> {
    table: &'a TypeTable,
    field: &'a Field,
}

// === impl TypeTable ===

impl TypeTable {
    pub(super) fn type_ref(&self, id: TypeId) -> TypeRef<'_> {
        TypeRef { table: self, ty: self.get(id) }
    }

    /// The type with this id; ids are checked when a table is made, so the fallback is never seen.
    pub(super) fn get(&self, id: TypeId) -> &Type {
        static ANY: std::sync::LazyLock<Type> = std::sync::LazyLock::new(|| Type {
            go_name: "interface {}".into(),
            shape: Shape::Scalar(Scalar::Any),
        });
        self.types.get(id.0 as usize).unwrap_or(&ANY)
    }
}

// === impl TypeRef ===

impl<'a> TypeRef<'a> {
    /// The field with this JSON name; `None` when this is no struct or has no such field.
    pub fn field(&self, name: &str) -> Option<FieldRef<'a>> {
        let Shape::Struct(shape) = &self.ty.shape else { return None };
        let index = shape.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        Some(FieldRef { table: self.table, field: shape.fields.get(index)? })
    }

    /// All fields, sorted by JSON name; none when this is no struct.
    pub fn fields(&self) -> impl Iterator<Item = FieldRef<'a>> + use<'a> {
        let table = self.table;
        let fields = match &self.ty.shape {
            Shape::Struct(shape) => &*shape.fields,
            _ => &[],
        };
        fields.iter().map(move |field| FieldRef { table, field })
    }

    /// The element type; `None` when this is no list.
    pub fn element(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            Shape::List { element, .. } => Some(self.table.type_ref(*element)),
            _ => None,
        }
    }

    /// The type of a map's values; `None` when this is no map.
    pub fn value(&self) -> Option<TypeRef<'a>> {
        match &self.ty.shape {
            Shape::Map { value, .. } => Some(self.table.type_ref(*value)),
            _ => None,
        }
    }

    /// How a list's elements are told apart; `None` when this is no list.
    pub fn list_kind(&self) -> Option<ListKind> {
        match &self.ty.shape {
            Shape::List { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// The fields that tell a keyed list's elements apart, in declared order; empty for all else.
    pub fn list_keys(&self) -> &'a [Arc<str>] {
        match &self.ty.shape {
            Shape::List { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Whether server-side apply treats the whole value as one: scalars, atomic lists, maps and structs.
    pub fn is_atomic(&self) -> bool {
        match &self.ty.shape {
            Shape::Scalar(_) => true,
            Shape::Struct(shape) => shape.atomic,
            Shape::List { kind, .. } => *kind == ListKind::Atomic,
            Shape::Map { atomic, .. } => *atomic,
        }
    }

    /// Whether this is a struct.
    pub fn is_struct(&self) -> bool {
        matches!(self.ty.shape, Shape::Struct(_))
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
        self.table.type_ref(self.field.ty)
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
        self.field.pointer
    }

    /// Whether a zero (empty list, empty map) is left out of JSON.
    pub fn omits_empty(&self) -> bool {
        self.field.omit_empty
    }

    /// The schema's default, when the field is absent.
    pub fn default(&self) -> Option<&'a Value> {
        self.field.default.as_deref()
    }
}
