//! Kubernetes' JSONPath: the paths of table columns and of custom resources' selectable fields.
//!
//! [`JsonPath::parse`] reads the text between the braces of kubectl's `-o jsonpath={…}`: fields (`.a.b`, `['a']`, `\.` for
//! a dot in a name), elements (`[0]`, `[-1]`, `[1:3]`, `[0:4:2]`), wildcards (`[*]`, `.*`), filters
//! (`[?(@.type=="Ready")]`), unions (`['a','b']`) and the recursive descent (`..`). Missing fields are no error. Loops over
//! results (`range` … `end`) are accepted by the parser, but do not evaluate: a path of a custom resource denotes values,
//! not a text.
//!
//! Objects are visited in the order of their keys. (Go visits them in a random order.)
//!
//! Kubernetes concept: [JSONPath support](https://kubernetes.io/docs/reference/kubectl/jsonpath/), `k8s.io/client-go/util/jsonpath`.

use std::fmt;

use serde_json::{Map, Number, Value};

mod compare;
mod evaluate;
mod fault;
mod parse;
mod print;
mod quote;

/// Maximum number of values that [`JsonPath::find`] visits.
pub const MAX_VISITS: usize = 100_000;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// The actions `{…}` in order, and the texts between them. The first one is the path; the others are evaluated only
    /// for their errors.
    nodes: Vec<Node>,
}

/// A value found by a path: a part of the object or of the path. Cheap to copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'a> {
    /// `null`.
    Null,
    /// A Boolean.
    Bool(bool),
    /// A number.
    Number(&'a Number),
    /// A string.
    String(&'a str),
    /// A list.
    Array(&'a [Value]),
    /// An object.
    Object(&'a Map<String, Value>),
}

/// Error of a path that cannot be parsed or evaluated. Not retryable. The text is Kubernetes'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct JsonPathError(#[from] fault::Fault);

/// An element of a path.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// An action: each element is applied to the results of the one before it.
    List(Vec<Self>),
    /// A text, quoted or between actions.
    Text(String),
    Field(String),
    Slice(Slice),
    Filter(Filter),
    Number(Number),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Self>>),
    /// A word that is neither a Boolean nor a number, such as `range`.
    Identifier(String),
}

/// Elements of a list: `[start:end:step]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    /// Whether `end` follows from `start`: the path selects one element.
    is_index: bool,
    step: Option<i64>,
}

/// Selects the elements of a list that satisfy a condition.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Node>,
    /// The comparison; `None` if `left` must find something.
    comparison: Option<(String, Vec<Node>)>,
}

// === impl JsonPath ===

impl JsonPath {
    /// Parses the text of a path without the enclosing braces: `.spec.replicas`.
    ///
    /// # Errors
    /// Fails if Kubernetes rejects the path, or if its filters and unions nest more than 32 times.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let nodes = parse::template(&format!("{{{text}}}"))?;
        Ok(Self { nodes })
    }

    /// Returns the values at this path.
    ///
    /// The work is bounded: at most [`MAX_VISITS`] values are visited.
    ///
    /// # Errors
    /// Fails if the path selects elements beyond the end of a list or of something other than a list, if it compares
    /// values of different types, or if it visits too many values.
    pub fn find<'a>(&'a self, root: impl Into<Found<'a>>) -> Result<Vec<Found<'a>>, JsonPathError> {
        self.find_within(root, MAX_VISITS)
    }

    /// Returns the values at this path as [`find`](Self::find) does, with another limit of visits.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_within<'a>(
        &'a self,
        root: impl Into<Found<'a>>,
        visits: usize,
    ) -> Result<Vec<Found<'a>>, JsonPathError> {
        Ok(evaluate::find(&self.nodes, root.into(), visits)?)
    }
}

// === impl Found ===

impl Found<'_> {
    /// Converts to a JSON value. Copies the whole value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => text.into(),
            Self::Array(items) => items.to_vec().into(),
            Self::Object(fields) => Value::Object(fields.clone()),
        }
    }
}

/// Writes the value as kubectl prints it: strings without quotes, lists and objects as JSON.
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::write(*self, f)
    }
}

impl<'a> From<&'a Value> for Found<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::String(text),
            Value::Array(items) => Self::Array(items),
            Value::Object(fields) => Self::Object(fields),
        }
    }
}

impl<'a> From<&'a Map<String, Value>> for Found<'a> {
    fn from(fields: &'a Map<String, Value>) -> Self {
        Self::Object(fields)
    }
}

/// Formats results as kubectl prints them, separated by spaces. (`PrintResults`.)
pub fn print(results: &[Found<'_>]) -> String {
    let texts: Vec<String> = results.iter().map(ToString::to_string).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests;
