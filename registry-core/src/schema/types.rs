//! The arena of types.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::descriptions::Descriptions;
use super::rules::Rules;

mod arena;
mod walk;
mod wire;

pub use walk::{FieldRef, TypeRef};
pub(crate) use wire::{Form, Message, Slot};

/// Types that refer to each other, shared by all kinds that use them.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    pub(super) types: Vec<Type>,
    /// Named types by their OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
    pub(super) names: BTreeMap<Arc<str>, TypeId>,
    /// Which kinds are which types.
    pub(super) kinds: Vec<KindEntry>,
    /// Where the types were declared.
    pub(super) dialect: Dialect,
    /// Texts for people, of types that bring their own.
    pub(super) descriptions: Descriptions,
}

/// Where types were declared, which decides what absence and null mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Go structs: value fields are never absent, a null element is a zero.
    #[default]
    Go,
    /// A JSON schema: what is absent stays absent, a null element is an error.
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

/// One type's place in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TypeId(pub(super) u32);

/// One type.
#[derive(Clone, Debug)]
pub(super) struct Type {
    /// Its OpenAPI name, when it is a component of its own.
    pub(super) name: Option<Arc<str>>,
    /// The Go type as decoding errors name it: `v1.PodSpec`, `[]string`, `int32`.
    pub(super) go_name: Arc<str>,
    /// What it looks like.
    pub(super) shape: TypeShape,
    /// What its values must be beyond that.
    pub(super) rules: Option<Box<Rules>>,
    /// Whether it or anything inside it has defaults worth looking for.
    pub(super) has_defaults: bool,
}

/// What a type looks like.
#[derive(Clone, Debug)]
pub(super) enum TypeShape {
    /// One value, or a tree the schema does not look into.
    Scalar(Scalar),
    /// A struct.
    Struct(Struct),
    /// A list; `keys` tell the elements of a keyed one apart. `declared`: someone said of which kind it is.
    List { element: TypeId, kind: ListKind, keys: Box<[Arc<str>]>, declared: bool },
    /// A map with string keys.
    Map { value: TypeId, atomic: bool },
    /// A JSON schema, or something simpler in its place (`additionalProperties: false`).
    SchemaOr { schema: TypeId, or: SchemaOr },
}

/// What may stand in the place of a JSON schema in a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOr {
    /// A boolean (Go's `JSONSchemaPropsOrBool`).
    Bool,
    /// A list of schemas (`JSONSchemaPropsOrArray`).
    List,
    /// A list of strings (`JSONSchemaPropsOrStringArray`).
    Strings,
}

/// Formats of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Any JSON: table cells.
    Any,
    /// Any JSON kept as its text: Go's `runtime.RawExtension`, `metav1.FieldsV1`, CRDs' `JSON`. In protobuf a
    /// message with the text as field 1.
    Raw,
    /// A boolean.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
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
    /// A whole number of 32 bits, or a string.
    IntOrString,
}

/// A struct's fields, sorted by their JSON names.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    pub(super) fields: Box<[Field]>,
    /// Replaced as a whole by server-side apply (`+structType=atomic`).
    pub(super) atomic: bool,
    /// Unknown fields stay (`x-kubernetes-preserve-unknown-fields`).
    pub(super) keeps_unknown: bool,
    /// Places of the fields JSON always has.
    pub(super) always: Box<[u16]>,
    /// Places of the fields that have defaults, or whose types do.
    pub(super) defaulted: Box<[u16]>,
    /// The fields as protobuf has them.
    pub(super) wires: Box<[wire::Wire]>,
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) ty: TypeId,
    pub(super) traits: FieldTraits,
    pub(super) patch_strategy: PatchStrategy,
    pub(super) merge_key: Option<Arc<str>>,
    pub(super) default: Option<Arc<Value>>,
    /// Field numbers in protobuf: the last is the field's own, those before it of the inlined messages around it.
    pub(super) proto: Box<[u32]>,
    /// Overrides whether the field's type is one value for server-side apply.
    pub(super) atomic: Option<bool>,
    pub(super) absent: Absent,
}

/// What Go's struct tags say of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldTraits {
    pub(super) pointer: bool,
    pub(super) omit_empty: bool,
    pub(super) omit_zero: bool,
    pub(super) required: bool,
    /// An empty list or map is stored as nil: protobuf, in which Kubernetes stores it, has no empty lists.
    pub(super) nil_when_empty: bool,
}

/// What JSON has in the place of an absent field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Absent {
    /// Nothing.
    #[default]
    Omit,
    /// `null`.
    Null,
    /// The type's zero value.
    Zero,
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

/// What an id that is in no table stands for: anything.
static ANY: LazyLock<Type> =
    LazyLock::new(|| Type::unnamed("interface {}".into(), TypeShape::Scalar(Scalar::Any)));

// === impl Type ===

impl Type {
    /// A type that is no component of its own.
    pub(super) fn unnamed(go_name: Arc<str>, shape: TypeShape) -> Self {
        Self { name: None, go_name, shape, rules: None, has_defaults: false }
    }
}

// === impl Scalar ===

impl Scalar {
    /// The name in tables of facts.
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

    /// Whether Go has a struct for it, which `omitempty` never leaves out.
    pub(super) const fn is_go_struct(self) -> bool {
        matches!(self, Self::Raw | Self::Time | Self::MicroTime | Self::Quantity | Self::IntOrString)
    }
}

// === impl SchemaOr ===

impl SchemaOr {
    /// The name in tables of facts.
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
    /// Reads Go's tag: `merge`, `replace`, `merge,retainKeys`, ….
    pub(super) fn from_tag(tag: &str) -> Self {
        let has = |wanted| tag.split(',').any(|flag| flag == wanted);
        Self { replace: has("replace"), merge: has("merge"), retain_keys: has("retainKeys") }
    }
}
