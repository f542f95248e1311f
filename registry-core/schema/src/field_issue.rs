//! Issues of single fields, which leave an object readable: `fieldValidation` decides about them.

use std::fmt;

use registry_meta::go_text::quote;

/// An issue of a field of a decoded object.
///
/// Kubernetes concept: the strict decoding errors of `sigs.k8s.io/json` and `sigs.k8s.io/yaml`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldIssue {
    /// The schema does not have the field at this path; it was dropped.
    Unknown(String),
    /// An object of JSON has the field at this path more than once.
    Duplicate(String),
    /// Maps of a YAML document have these keys more than once. Go's decoder reports them together.
    RepeatedKeys(Vec<RepeatedKey>),
}

/// A key that a map of a YAML document has already.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepeatedKey {
    /// The line where its value starts.
    pub line: usize,
    /// The key.
    pub key: String,
}

// === impl FieldIssue ===

impl FieldIssue {
    /// Returns the issue of the object that has this one in a field.
    pub(crate) fn below(self, field: &str) -> Self {
        match self {
            Self::Unknown(path) => Self::Unknown(format!("{field}.{path}")),
            Self::Duplicate(path) => Self::Duplicate(format!("{field}.{path}")),
            Self::RepeatedKeys(keys) => Self::RepeatedKeys(keys),
        }
    }
}

/// Formats the issue as in strict decoding errors.
impl fmt::Display for FieldIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(path) => write!(f, "unknown field {}", quote(path)),
            Self::Duplicate(path) => write!(f, "duplicate field {}", quote(path)),
            Self::RepeatedKeys(keys) => {
                f.write_str("yaml: unmarshal errors:")?;
                keys.iter().try_for_each(|key| write!(f, "\n  {key}"))
            }
        }
    }
}

impl fmt::Display for RepeatedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: key {} already set in map", self.line, quote(&self.key))
    }
}
