//! The treatment of a type by server-side apply: as one value, or as parts that can have different managers.

use std::borrow::Cow;

use serde_json::Value;

use crate::api::go_text::quoted;
use crate::schema::{ListKind, TypeRef};

use super::element::PathElement;

/// The treatment of a type by server-side apply.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueShape<'s> {
    /// One value: scalars and atomic types.
    Leaf,
    /// A struct whose fields are managed separately.
    Struct(TypeRef<'s>),
    /// A map whose keys are managed separately, with the type of its values.
    Map(TypeRef<'s>),
    /// A list whose elements are managed separately.
    List(TypeRef<'s>),
    /// No schema: the keys of maps are managed separately, everything else is one value.
    Open,
}

// === impl ValueShape ===

impl<'s> ValueShape<'s> {
    /// Returns the shape of a type.
    pub(super) fn from_type(ty: TypeRef<'s>) -> Self {
        if ty.is_open() {
            return Self::Open;
        }
        if ty.is_atomic() {
            return Self::Leaf;
        }
        if let Some(value) = ty.value() {
            return Self::Map(value);
        }
        if ty.list_kind().is_some() {
            return Self::List(ty);
        }
        if ty.is_struct() { Self::Struct(ty) } else { Self::Leaf }
    }

    /// Returns the shape of a field or key.
    pub(super) fn member(self, name: &str) -> Self {
        match self {
            Self::Struct(ty) => match ty.field(name) {
                Some(field) => Self::from_type(field.ty()),
                None => Self::Open,
            },
            Self::Map(value) => Self::from_type(value),
            Self::Open => Self::Open,
            Self::Leaf | Self::List(_) => Self::Leaf,
        }
    }

    /// Like [`Self::member`], for iterating in the order of names: `place` is the index of the previous match.
    pub(super) fn next_member(self, name: &str, place: &mut usize) -> Self {
        match self {
            Self::Struct(ty) => match ty.next_field(name, place) {
                Some(field) => Self::from_type(field.ty()),
                None => Self::Open,
            },
            other => other.member(name),
        }
    }

    /// Whether this is a struct that declares this field.
    pub(super) fn names(self, name: &str) -> bool {
        matches!(self, Self::Struct(ty) if ty.field(name).is_some())
    }

    /// Returns the shape of a list's elements.
    pub(super) fn element(self) -> Self {
        match self {
            Self::List(ty) => ty.element().map_or(Self::Leaf, Self::from_type),
            _ => Self::Leaf,
        }
    }
}

/// Error of an element that has no place in an associative list. The texts are those of
/// `sigs.k8s.io/structured-merge-diff`.
#[derive(Debug, thiserror::Error)]
pub(super) enum ItemError {
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    #[error("associative list with keys may not have a null element")]
    Null,
    #[error("associative list with keys may not have non-map elements")]
    NoMap,
    #[error(
        "associative list with keys has an element that omits all key fields {} (and doesn't have default values for any \
         key fields)",
        quoted(.0)
    )]
    NoKey(Vec<String>),
}

/// Returns the path element that identifies a list element; the error is Kubernetes' message if it has no identity.
pub(super) fn list_element<'a>(list: TypeRef<'a>, item: &'a Value) -> Result<PathElement<'a>, ItemError> {
    if list.list_kind() == Some(ListKind::Set) {
        return match item {
            Value::Object(_) => Err(ItemError::MapInSet),
            Value::Array(_) => Err(ItemError::ListInSet),
            Value::Null => Err(ItemError::NullInSet),
            scalar => Ok(PathElement::Value(Cow::Borrowed(scalar))),
        };
    }
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err(ItemError::Null),
        _ => return Err(ItemError::NoMap),
    };
    let names = list.list_keys();
    let element = list.element();
    let mut key = Vec::with_capacity(names.len());
    for name in names {
        let default = || element.and_then(|element| element.field(name)).and_then(|field| field.default());
        if let Some(value) = fields.get(&**name).or_else(default) {
            key.push((Cow::Borrowed(&**name), Cow::Borrowed(value)));
        }
    }
    if key.is_empty() {
        return Err(ItemError::NoKey(names.iter().map(ToString::to_string).collect()));
    }
    key.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(PathElement::Key(key))
}
