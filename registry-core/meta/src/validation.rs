//! Field errors collected by validation.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/util/validation/field`.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::go_text::{aggregate, escape_html, quote};

pub mod names;
pub mod object_meta;

/// Path of a field in an object: `spec.containers[0].name`, `metadata.labels[a/b]`.
///
/// A path shares its parent, so appending an element costs the same at any depth; map keys can be megabytes long.
#[derive(Clone, Default)]
pub struct FieldPath(Option<Arc<Step>>);

/// An element of a path.
struct Step {
    parent: FieldPath,
    name: StepName,
}

enum StepName {
    Field(Box<str>),
    Index(usize),
    Key(Box<str>),
}

/// An error about one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The kind of error.
    pub kind: FieldErrorKind,
    /// The field.
    pub field: FieldPath,
    /// The invalid value, for the kinds whose message includes it.
    pub value: Option<Value>,
    /// The value as displayed in the message, if not as JSON.
    pub shown: Option<String>,
    /// The human-readable detail.
    pub detail: String,
}

/// The kinds of field errors, as `Status.details.causes[].reason` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The value refers to something that does not exist.
    NotFound,
    /// The field must be set.
    Required,
    /// The value must be unique but is not.
    Duplicate,
    /// The value violates a rule.
    Invalid,
    /// The value is not one of the supported ones.
    NotSupported,
    /// The field must not be set, or must not be changed.
    Forbidden,
    /// The value is too long (characters or bytes).
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// The value has the wrong type.
    TypeInvalid,
    /// An internal error occurred.
    Internal,
}

/// The errors of one object, in the order found. Empty means valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList(pub Vec<FieldError>);

// === impl FieldPath ===

impl FieldPath {
    /// Creates the path of a top-level field.
    pub fn new(root: &str) -> Self {
        Self::default().step(StepName::Field(root.into()))
    }

    /// Returns the path of the object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the path of a field below this one.
    pub fn child(&self, name: &str) -> Self {
        self.step(StepName::Field(name.into()))
    }

    /// Returns the path of an element of this list.
    pub fn index(&self, index: usize) -> Self {
        self.step(StepName::Index(index))
    }

    /// Returns the path of an entry of this map.
    pub fn key(&self, key: &str) -> Self {
        self.step(StepName::Key(key.into()))
    }

    fn step(&self, name: StepName) -> Self {
        Self(Some(Arc::new(Step { parent: self.clone(), name })))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = Vec::new();
        let mut path = self;
        while let Some(step) = &path.0 {
            steps.push(&step.name);
            path = &step.parent;
        }
        if steps.is_empty() {
            return f.write_str("<nil>");
        }
        for (place, name) in steps.into_iter().rev().enumerate() {
            match name {
                StepName::Field(name) if place == 0 => f.write_str(name)?,
                StepName::Field(name) => write!(f, ".{name}")?,
                StepName::Index(index) => write!(f, "[{index}]")?,
                StepName::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for FieldPath {}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldPath(\"{self}\")")
    }
}

// === impl FieldError ===

impl FieldError {
    /// The field must be set.
    pub fn required(field: FieldPath, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Required, field, value: None, shown: None, detail: detail.into() }
    }

    /// The value violates a rule.
    pub fn invalid(field: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            field,
            value: Some(value.into()),
            shown: None,
            detail: detail.into(),
        }
    }

    /// The value must be unique but is not.
    pub fn duplicate(field: FieldPath, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::Duplicate,
            field,
            value: Some(value.into()),
            shown: None,
            detail: String::new(),
        }
    }

    /// The field must not be set or changed.
    pub fn forbidden(field: FieldPath, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Forbidden, field, value: None, shown: None, detail: detail.into() }
    }

    /// The field cannot be checked.
    pub fn internal(field: FieldPath, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Internal, field, value: None, shown: None, detail: detail.into() }
    }

    /// The value refers to something that does not exist.
    pub fn not_found(field: FieldPath, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::NotFound,
            field,
            value: Some(value.into()),
            shown: None,
            detail: String::new(),
        }
    }

    /// The value is not one of the supported ones, which the message lists in the given order.
    pub fn not_supported(field: FieldPath, value: impl Into<Value>, accepted: &[&str]) -> Self {
        let accepted: Vec<_> = accepted.iter().map(|supported| format!("{supported:?}")).collect();
        let detail = format!("supported values: {}", accepted.join(", "));
        Self { kind: FieldErrorKind::NotSupported, field, value: Some(value.into()), shown: None, detail }
    }

    /// The value is longer than `limit` bytes.
    pub fn too_long(field: FieldPath, limit_bytes: usize) -> Self {
        let detail = format!("may not be more than {limit_bytes} bytes");
        Self { kind: FieldErrorKind::TooLong, field, value: None, shown: None, detail }
    }

    /// The list or map has more than `limit` entries.
    pub fn too_many(field: FieldPath, count: usize, limit: usize) -> Self {
        let detail = format!("must have at most {limit} items");
        Self { kind: FieldErrorKind::TooMany, field, value: Some(count.into()), shown: None, detail }
    }

    /// Sets how the message displays the value.
    #[must_use]
    pub fn shown_as(self, text: impl Into<String>) -> Self {
        Self { shown: Some(text.into()), ..self }
    }

    /// Leaves the value out of the message.
    #[must_use]
    pub fn without_value(self) -> Self {
        Self { value: None, shown: None, ..self }
    }

    /// Sets the human-readable detail.
    #[must_use]
    pub fn detailed(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// Returns the message without the field: the message of the cause in a `Status`.
    pub fn body(&self) -> String {
        let name = self.kind.title();
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        match (&self.shown, &self.value) {
            (Some(text), _) => format!("{name}: {text}{detail}"),
            (None, Some(value)) => format!("{name}: {}{detail}", shown(value)),
            (None, None) => format!("{name}{detail}"),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl FieldErrorKind {
    /// Returns the machine-readable reason of the cause in a `Status`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// Formats a value as in Kubernetes' messages: strings quoted as in Go, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => quote(text),
        other => escape_html(other.to_string()),
    }
}

// === impl ErrorList ===

impl ErrorList {
    /// Returns the errors whose texts have at most this length together, but at least one, and the others.
    pub fn split_within(&self, bytes: usize) -> (&[FieldError], &[FieldError]) {
        let mut left = bytes;
        let fits = |error: &&FieldError| {
            let before = left;
            left = left.saturating_sub(error.to_string().len());
            before > 0
        };
        let count = self.0.iter().take_while(fits).count();
        self.0.split_at_checked(count).unwrap_or((&self.0, &[]))
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends an error.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Appends all errors of another list.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

impl From<FieldError> for ErrorList {
    fn from(error: FieldError) -> Self {
        Self(vec![error])
    }
}

impl FromIterator<FieldError> for ErrorList {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

/// Formats as an aggregate error: a single error alone, several in brackets, without duplicate messages.
impl fmt::Display for ErrorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aggregate(&self.0))
    }
}
