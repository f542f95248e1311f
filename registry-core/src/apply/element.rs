//! Path elements.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use crate::api::go_text::escape_html;

/// One element of a path through an object. Borrows names and keys from the object or field set.
///
/// Elements are ordered as Kubernetes orders them: fields, keys, values, indexes.
#[derive(Clone, Debug)]
pub enum PathElement<'a> {
    /// A field of a struct, or a key of a map.
    Field(Cow<'a, str>),
    /// The element of a keyed list with these key fields, sorted by name.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The element of a set with this value.
    Value(Cow<'a, Value>),
    /// The list element at this index.
    Index(i64),
}

/// Error of parsing a path element of `fieldsV1`. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// The text does not consist of a letter, a colon and a value.
    #[error("missing colon: {0}")]
    Malformed(String),
    /// The text after the colon does not have the form that the letter requires.
    #[error("{0}")]
    Content(String),
    /// The letter is unknown: a later version of Kubernetes may define it, so callers skip the element.
    #[error("unknown path element type")]
    Unknown,
}

// === impl PathElement ===

impl<'a> PathElement<'a> {
    /// Creates a field element.
    pub fn field(name: &'a str) -> Self {
        Self::Field(Cow::Borrowed(name))
    }

    /// Parses an element as in `fieldsV1`: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`.
    ///
    /// # Errors
    /// Fails if the text is not a path element.
    pub fn parse(text: &'a str) -> Result<Self, ElementError> {
        let (Some(letter), Some(content)) = (text.get(..1), text.get(2..)) else {
            return Err(ElementError::Malformed(text.to_owned()));
        };
        if text.as_bytes().get(1) != Some(&b':') {
            return Err(ElementError::Malformed(text.to_owned()));
        }
        let content_error = |error: &dyn fmt::Display| ElementError::Content(error.to_string());
        match letter {
            "f" => Ok(Self::field(content)),
            "v" => {
                let value = serde_json::from_str(content).map_err(|error| content_error(&error))?;
                Ok(Self::Value(Cow::Owned(value)))
            }
            "k" => {
                let fields: serde_json::Map<String, Value> =
                    serde_json::from_str(content).map_err(|error| content_error(&error))?;
                let mut fields: Vec<KeyField<'a>> =
                    fields.into_iter().map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))).collect();
                fields.sort_by(|(a, _), (b, _)| a.cmp(b));
                Ok(Self::Key(fields))
            }
            "i" => Ok(Self::Index(content.parse().map_err(|error| content_error(&error))?)),
            _ => Err(ElementError::Unknown),
        }
    }

    /// Formats the element as in `fieldsV1`.
    pub fn to_key(&self) -> String {
        match self {
            Self::Field(name) => {
                let mut text = String::with_capacity(name.len() + 2);
                text.push_str("f:");
                text.push_str(name);
                text
            }
            Self::Value(value) => escape_html(format!("v:{value}")),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(fields) => {
                let mut text = String::with_capacity(32);
                text.push_str("k:{");
                for (place, (name, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        text.push(',');
                    }
                    text.push_str(&Value::from(name.as_ref()).to_string());
                    text.push(':');
                    text.push_str(&value.to_string());
                }
                text.push('}');
                escape_html(text)
            }
        }
    }

    /// Returns the element with owned data.
    pub fn into_owned(self) -> PathElement<'static> {
        match self {
            Self::Field(name) => PathElement::Field(Cow::Owned(name.into_owned())),
            Self::Value(value) => PathElement::Value(Cow::Owned(value.into_owned())),
            Self::Index(index) => PathElement::Index(index),
            Self::Key(fields) => PathElement::Key(
                fields
                    .into_iter()
                    .map(|(name, value)| (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned())))
                    .collect(),
            ),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement<'_> {}

/// Formats the element as in conflict messages: `.name`, `[name="c"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
        }
    }
}

type KeyField<'a> = (Cow<'a, str>, Cow<'a, Value>);

fn compare_keys(a: &[KeyField<'_>], b: &[KeyField<'_>]) -> Ordering {
    let pairs = a.iter().zip(b);
    let first_difference = pairs
        .map(|((a_name, a_value), (b_name, b_value))| {
            a_name.cmp(b_name).then_with(|| compare_values(a_value, b_value))
        })
        .find(|order| order.is_ne());
    first_difference.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// A total order over values: numbers, strings, booleans, lists, maps, null.
pub(super) fn compare_values(a: &Value, b: &Value) -> Ordering {
    const fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_each(a, b, compare_values),
        (Value::Object(a), Value::Object(b)) => {
            let of = |(a_key, a): (&String, &Value), (b_key, b): (&String, &Value)| {
                a_key.cmp(b_key).then_with(|| compare_values(a, b))
            };
            compare_each(a, b, of)
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare_each<T>(
    a: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    b: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    of: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let a = a.into_iter();
    let b = b.into_iter();
    let lengths = a.len().cmp(&b.len());
    a.zip(b).map(|(a, b)| of(a, b)).find(|order| order.is_ne()).unwrap_or(lengths)
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let a = a.as_f64().unwrap_or_default();
    let b = b.as_f64().unwrap_or_default();
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}
