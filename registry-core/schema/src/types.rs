//! Type tables.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::descriptions::Descriptions;

mod arena;
mod walk;
mod wire;

pub use walk::{FieldRef, TypeRef};
pub(crate) use wire::{Form, Message, Slot};

/// Types that refer to each other, shared by the kinds that use them.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    pub(super) types: Vec<Type>,
    /// Named types by their OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
    pub(super) names: BTreeMap<Arc<str>, TypeId>,
    /// The types of kinds.
    pub(super) kinds: Vec<KindEntry>,
    /// The source of the types.
    pub(super) dialect: Dialect,
    /// Descriptions of types that include their own.
    pub(super) descriptions: Descriptions,
    /// A table whose types this one uses: its ids come before those of this table's own types.
    pub(super) base: Option<Arc<TypeTable>>,
}

/// The source of types, which determines the meaning of absence and null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Go structs: non-pointer fields are never absent, a null element is a zero.
    #[default]
    Go,
    /// A JSON schema: absent values remain absent, a null element is an error.
    JsonSchema,
}

/// A kind and its type.
#[derive(Clone, Debug)]
pub(super) struct KindEntry {
    pub(super) ty: TypeId,
    pub(super) group: Arc<str>,
    pub(super) version: Arc<str>,
    pub(super) kind: Arc<str>,
}

/// The index of a type in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TypeId(pub(super) u32);

/// A type.
#[derive(Clone, Debug)]
pub(super) struct Type {
    /// Its OpenAPI name, if it is a component.
    pub(super) name: Option<Arc<str>>,
    /// The Go type as named in decoding errors: `v1.PodSpec`, `[]string`, `int32`.
    pub(super) go_name: Arc<str>,
    /// The structure of the type.
    pub(super) shape: TypeShape,
    /// The restrictions of its values, as OpenAPI shows them.
    pub(super) restrictions: Option<Box<Map<String, Value>>>,
    /// Whether it or a type below it has defaults.
    pub(super) has_defaults: bool,
    /// Whether it or a type below it has fields that are null in the stored form when they are empty.
    pub(super) has_nils: bool,
}

/// The structure of a type.
#[derive(Clone, Debug)]
pub(super) enum TypeShape {
    /// A scalar, or an opaque tree.
    Scalar(Scalar),
    /// A struct.
    Struct(Struct),
    /// A list; `keys` identify the elements of a keyed one. `declared`: whether the source specifies the kind of list.
    List { element: TypeId, kind: ListKind, keys: Box<[Arc<str>]>, declared: bool },
    /// A map with string keys.
    Map { value: TypeId, atomic: bool },
    /// A JSON schema, or an alternative to it (`additionalProperties: false`).
    SchemaOr { schema: TypeId, or: SchemaOr },
}

/// The alternative to a JSON schema in a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOr {
    /// A boolean (Go's `JSONSchemaPropsOrBool`).
    Bool,
    /// A list of schemas (`JSONSchemaPropsOrArray`).
    List,
    /// A list of strings (`JSONSchemaPropsOrStringArray`).
    Strings,
}

/// Formats of scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Any JSON: table cells.
    Any,
    /// Any JSON stored as text: Go's `runtime.RawExtension`, `metav1.FieldsV1`, CRDs' `JSON`. In protobuf a message
    /// with the text as field 1.
    Raw,
    /// A boolean.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A floating point number.
    Double,
    /// A string.
    String,
    /// Bytes: base64 in JSON.
    Bytes,
    /// A time in whole seconds, `2026-01-02T03:04:05Z`.
    Time,
    /// A time in microseconds, `2026-01-02T03:04:05.000006Z`.
    MicroTime,
    /// A number with a suffix, such as `500m` or `1Gi`.
    Quantity,
    /// A 32-bit integer, or a string.
    IntOrString,
}

/// A struct's fields, sorted by their JSON names.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    pub(super) fields: Box<[Field]>,
    /// Whether server-side apply replaces it as a whole (`+structType=atomic`).
    pub(super) atomic: bool,
    /// Whether unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    pub(super) keeps_unknown: bool,
    /// Indexes of the fields that are always present in JSON.
    pub(super) always: Box<[u16]>,
    /// Indexes of the fields that have defaults, or whose types do.
    pub(super) defaulted: Box<[u16]>,
    /// Indexes of the fields that are null in the stored form when they are empty, or that have such fields below them.
    pub(super) nilled: Box<[u16]>,
    /// The names of the fields after `metadata` in the order of the Go struct, if that is not the usual one. Known only
    /// for kinds.
    pub(super) order: Box<[Arc<str>]>,
    /// The layout of the fields in protobuf.
    pub(super) wires: Box<[wire::Wire]>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) ty: TypeId,
    pub(super) traits: FieldTraits,
    pub(super) patch_strategy: PatchStrategy,
    pub(super) merge_key: Option<Arc<str>>,
    pub(super) default: Option<Arc<Value>>,
    /// Protobuf field numbers: the last is the field's own, the preceding ones are those of the inlined messages around
    /// it.
    pub(super) proto: Box<[u32]>,
    /// Overrides whether server-side apply treats the field as one value.
    pub(super) atomic: Option<bool>,
    pub(super) absent: Absent,
    /// The restrictions that the field adds to those of its type, as OpenAPI shows them.
    pub(super) restrictions: Option<Box<Map<String, Value>>>,
}

/// Properties of a field from Go's struct tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldTraits {
    pub(super) pointer: bool,
    pub(super) omit_empty: bool,
    pub(super) omit_zero: bool,
    pub(super) required: bool,
    /// An empty list or map is stored as nil: protobuf, Kubernetes' storage format, has no empty lists.
    pub(super) nil_when_empty: bool,
}

/// The JSON form of an absent field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Absent {
    /// Omitted.
    #[default]
    Omit,
    /// `null`.
    Null,
    /// The type's zero value.
    Zero,
}

/// The treatment of a list by server-side apply (`+listType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The list is one value.
    Atomic,
    /// The elements are scalars that are managed separately.
    Set,
    /// The elements are structs identified by their key fields.
    Map,
}

/// The treatment of a field by a strategic merge patch (Go's `patchStrategy` tag). Without flags, structs and maps are
/// merged, and lists are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// `replace`: the patch's value replaces the current one.
    pub replace: bool,
    /// `merge`: lists are merged by merge key or, for scalars, as sets.
    pub merge: bool,
    /// `retainKeys`: only the keys listed in the patch are kept.
    pub retain_keys: bool,
}

/// The type of an unknown id: any value.
static ANY: LazyLock<Type> =
    LazyLock::new(|| Type::unnamed("interface {}".into(), TypeShape::Scalar(Scalar::Any)));

// === impl Field ===

impl Field {
    /// Creates a field of a custom struct: absent values remain absent, zeros remain zeros.
    pub(super) fn new(name: impl Into<Arc<str>>, ty: TypeId) -> Self {
        Self {
            name: name.into(),
            ty,
            traits: FieldTraits { pointer: true, omit_empty: true, ..FieldTraits::default() },
            patch_strategy: PatchStrategy::default(),
            merge_key: None,
            default: None,
            proto: Box::default(),
            atomic: None,
            absent: Absent::Omit,
            restrictions: None,
        }
    }
}

// === impl Type ===

impl Type {
    /// Creates a type that is not a component.
    pub(super) fn unnamed(go_name: Arc<str>, shape: TypeShape) -> Self {
        Self { name: None, go_name, shape, restrictions: None, has_defaults: false, has_nils: false }
    }
}

// === impl Scalar ===

impl Scalar {
    /// Parses the name in tables of facts.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "any" => Self::Any,
            "raw" => Self::Raw,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            _ => return None,
        })
    }

    /// Whether it is a struct in Go, which `omitempty` never omits.
    pub(super) const fn is_go_struct(self) -> bool {
        matches!(self, Self::Raw | Self::Time | Self::MicroTime | Self::Quantity | Self::IntOrString)
    }
}

// === impl SchemaOr ===

impl SchemaOr {
    /// Parses the name in tables of facts.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "list" => Self::List,
            "strings" => Self::Strings,
            _ => return None,
        })
    }
}

// === impl PatchStrategy ===

impl PatchStrategy {
    /// Parses Go's tag: `merge`, `replace`, `merge,retainKeys`, ….
    pub(super) fn from_tag(tag: &str) -> Self {
        let has = |wanted| tag.split(',').any(|flag| flag == wanted);
        Self { replace: has("replace"), merge: has("merge"), retain_keys: has("retainKeys") }
    }
}
