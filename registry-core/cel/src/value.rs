//! Values of expressions. Those that come from an object borrow its JSON tree.
//!
//! | module | contents |
//! |---|---|
//! | `refusal` | the types of values, in messages |
//! | `compare` | equality and order |
//! | `json` | JSON as values, and values as JSON |
//! | `print` | values as texts |
//! | `foreign` | values of types that only functions know: quantities, URLs, addresses, versions, authorizers |
//! | `time` | points and spans of time |

pub use crate::evaluation_error::EvaluationError;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::types::{DYN, DeclType, Field, ListKind, ObjectType, Shape, Type};

pub(crate) mod compare;
pub(crate) mod foreign;
pub(crate) mod json;
mod print;
mod refusal;
pub(crate) mod time;

pub use foreign::Foreign;
pub use time::Timestamp;

/// A value of an expression.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// A text.
    String(Text<'a>),
    /// A byte sequence.
    Bytes(Arc<[u8]>),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A list.
    List(List<'a>),
    /// A map, or an object with fields.
    Map(Map<'a>),
    /// A type.
    Type(Arc<Type>),
    /// A value that may be absent.
    Optional(Option<Arc<Value<'a>>>),
    /// A value of a type that only functions know.
    Foreign(Arc<Foreign>),
}

/// A text, borrowed from the object or the expression, or made by it.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// A text of the object or the expression.
    Borrowed(&'a str),
    /// A text that was made while evaluating.
    Shared(Arc<str>),
}

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// An array of the object, with its declared type.
    Json(&'a Vec<Json>, &'a DeclType),
    /// A list that was made while evaluating.
    Owned(Arc<Vec<Value<'a>>>),
    /// A list that was joined of others, with the declared type of the first: what makes elements the same stays.
    Joined(Arc<Vec<Value<'a>>>, &'a DeclType),
}

/// A map or an object.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// An object of the tree, with its declared type.
    Json(&'a serde_json::Map<String, Json>, &'a DeclType),
    /// A map that was made while evaluating.
    Owned(Arc<Entries<'a>>),
    /// An object that was made while evaluating, with its type.
    Object(Arc<Entries<'a>>, Arc<ObjectType>),
}

/// The entries of a map by key, with the keys as they were written.
pub type Entries<'a> = BTreeMap<Key<'a>, (Value<'a>, Value<'a>)>;

/// A key of a map, in a form in which equal numbers of different types are the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// A truth value.
    Bool(bool),
    /// A whole number of any type.
    Number(i128),
    /// A number with a fraction, as its bits.
    Fraction(u64),
    /// A text.
    String(Text<'a>),
}

/// The result of evaluating a part of an expression.
pub(crate) type Evaluated<'a> = Result<Value<'a>, Box<EvaluationError>>;

/// An evaluation error with a message.
pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Box<EvaluationError>> {
    Err(Box::new(EvaluationError::Failed(message.into())))
}

/// The error of a function that does not take such values.
pub(crate) fn no_such_overload<T>() -> Result<T, Box<EvaluationError>> {
    fail("no such overload")
}

// === impl Text ===

impl Text<'_> {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Value ===

impl<'a> Value<'a> {
    /// A text that was made while evaluating.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A list that was made while evaluating.
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(List::Owned(Arc::new(elements)))
    }

    /// A map that was made while evaluating.
    pub fn map(entries: Entries<'a>) -> Self {
        Self::Map(Map::Owned(Arc::new(entries)))
    }

    /// A value that is there.
    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(crate) fn foreign(value: Foreign) -> Self {
        Self::Foreign(Arc::new(value))
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The type of the value, without the parameters of lists and maps.
    pub fn type_of(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::Duration(_) => Type::Duration,
            Self::Timestamp(_) => Type::Timestamp,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(
                Map::Json(_, DeclType { shape: Shape::Object(object), .. }) | Map::Object(_, object),
            ) => Type::Object(Arc::clone(object)),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Type(_) => Type::Type(None),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Foreign(foreign) => foreign.type_of(),
        }
    }

    /// Copies the value so that it borrows nothing; `None` if it has parts of an object.
    pub(crate) fn to_static(&self) -> Option<Value<'static>> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(number) => Value::Int(*number),
            Self::Uint(number) => Value::Uint(*number),
            Self::Double(number) => Value::Double(*number),
            Self::String(text) => Value::string(text.as_str()),
            Self::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
            Self::Duration(nanoseconds) => Value::Duration(*nanoseconds),
            Self::Timestamp(time) => Value::Timestamp(*time),
            Self::Type(of) => Value::Type(Arc::clone(of)),
            Self::Foreign(foreign) => Value::Foreign(Arc::clone(foreign)),
            Self::Optional(None) => Value::Optional(None),
            Self::Optional(Some(value)) => Value::some(value.to_static()?),
            Self::List(List::Owned(items)) => {
                Value::list(items.iter().map(Value::to_static).collect::<Option<_>>()?)
            }
            Self::Map(Map::Owned(entries)) => {
                let mut copied = Entries::new();
                for (key, (written, value)) in entries.iter() {
                    copied.insert(key.to_static(), (written.to_static()?, value.to_static()?));
                }
                Value::map(copied)
            }
            Self::List(List::Json(..) | List::Joined(..)) | Self::Map(_) => return None,
        })
    }

    /// The size that costs are computed from: characters, bytes, elements or entries, and 1 for everything else.
    pub(crate) fn cost_size(&self) -> u64 {
        match self {
            Self::String(text) => text.as_str().chars().count() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Foreign(foreign) => foreign.cost_size(),
            Self::Optional(Some(value)) => value.cost_size(),
            _ => 1,
        }
    }

    /// The value as a map key, if it can be one.
    pub(crate) fn to_key(&self) -> Option<Key<'a>> {
        Some(match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(number) => Key::Number(i128::from(*number)),
            Self::Uint(number) => Key::Number(i128::from(*number)),
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 1e19 => {
                Key::Number(*number as i128)
            }
            Self::Double(number) => Key::Fraction(number.to_bits()),
            Self::String(text) => Key::String(text.clone()),
            _ => return None,
        })
    }
}

// === impl Key ===

impl Key<'_> {
    fn to_static(&self) -> Key<'static> {
        match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Number(number) => Key::Number(*number),
            Self::Fraction(bits) => Key::Fraction(*bits),
            Self::String(text) => Key::String(Text::Shared(Arc::from(text.as_str()))),
        }
    }
}

// === impl List ===

impl<'a> List<'a> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Owned(items) | Self::Joined(items, _) => items.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a place; `None` if there is none. An element that does not have its declared type is an error.
    pub(crate) fn get(&self, index: usize) -> Option<Evaluated<'a>> {
        match self {
            Self::Json(items, declared) => {
                items.get(index).map(|item| json::adapt(item, element_type(declared)))
            }
            Self::Owned(items) | Self::Joined(items, _) => items.get(index).cloned().map(Ok),
        }
    }

    /// All elements.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Evaluated<'a>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All elements, or the error of the first that has none.
    pub(crate) fn to_vec(&self) -> Result<Vec<Value<'a>>, Box<EvaluationError>> {
        self.iter().collect()
    }

    pub(crate) fn kind(&self) -> &'a ListKind {
        match self {
            Self::Json(_, DeclType { shape: Shape::List(_, kind), .. })
            | Self::Joined(_, DeclType { shape: Shape::List(_, kind), .. }) => kind,
            _ => &ListKind::Atomic,
        }
    }
}

fn element_type(declared: &DeclType) -> &DeclType {
    match &declared.shape {
        Shape::List(item, _) => item,
        _ => &DYN,
    }
}

// === impl Map ===

impl<'a> Map<'a> {
    /// The number of entries, of an object also those that are not declared.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(fields, _) => fields.len(),
            Self::Owned(entries) | Self::Object(entries, _) => entries.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a field or a text key.
    pub(crate) fn get_str(&self, key: &'a str) -> Option<Evaluated<'a>> {
        match self {
            Self::Json(fields, declared) => get_json(fields, declared, key),
            Self::Owned(entries) | Self::Object(entries, _) => {
                entries.get(&Key::String(Text::Borrowed(key))).map(|(_, value)| Ok(value.clone()))
            }
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Value<'a>) -> Option<Evaluated<'a>> {
        match self {
            Self::Json(fields, declared) => get_json(fields, declared, key.as_str()?),
            Self::Owned(entries) | Self::Object(entries, _) => {
                entries.get(&key.to_key()?).map(|(_, value)| Ok(value.clone()))
            }
        }
    }

    /// All keys as values, in their order.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Json(fields, DeclType { shape: Shape::Object(object), .. }) => {
                let present = object.fields().filter(|(_, field)| is_present(fields, field));
                present.map(|(name, _)| Value::string(name)).collect()
            }
            Self::Json(fields, _) => fields.keys().map(|key| Value::String(Text::Borrowed(key))).collect(),
            Self::Owned(entries) | Self::Object(entries, _) => {
                entries.values().map(|(key, _)| key.clone()).collect()
            }
        }
    }

    /// All entries, or the error of the first whose value has none.
    pub(crate) fn entries(&self) -> Result<Vec<(Value<'a>, Value<'a>)>, Box<EvaluationError>> {
        let pair = |key: Value<'a>| match self.get(&key) {
            Some(value) => value.map(|value| (key, value)),
            None => fail(format!("no such key: {key}")),
        };
        self.keys().into_iter().map(pair).collect()
    }
}

/// Whether an object has a field. One that is null is as good as absent.
fn is_present(fields: &serde_json::Map<String, Json>, field: &Field) -> bool {
    fields.get(field.json_name.as_ref()).is_some_and(|value| !value.is_null())
}

fn get_json<'a>(
    fields: &'a serde_json::Map<String, Json>,
    declared: &'a DeclType,
    key: &str,
) -> Option<Evaluated<'a>> {
    match &declared.shape {
        Shape::Object(object) => {
            let field = object.field(key)?;
            let value = fields.get(field.json_name.as_ref()).filter(|value| !value.is_null())?;
            Some(json::adapt(value, &field.declared))
        }
        Shape::Map(value) => fields.get(key).map(|found| json::adapt(found, value)),
        _ => fields.get(key).map(|found| json::adapt(found, &DYN)),
    }
}
