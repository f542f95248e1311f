//! One compiled form per kind: what its fields are, which are lists with keys, what their defaults are.

use serde_json::Value;

/// A kind's compiled schema.
#[derive(Debug)]
pub struct Schema {}

/// Something odd about one field that decoding can live with: field validation decides what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldIssue {
    /// The schema has no such field; it was dropped.
    Unknown(String),
    /// The same field came twice; the last one counts.
    Duplicate(String),
}

/// A value does not fit the schema: 400 at the edge. The text names the field, as Kubernetes does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConformError(pub String);

impl Schema {
    /// Brings a decoded object into the form the server keeps: checks types, drops unknown fields (noting each
    /// with its path), drops what Go's `omitempty` would, adds the empty structs Go would write.
    ///
    /// # Errors
    /// A field has a type it cannot have.
    pub fn conform(&self, _value: &mut Value, _issues: &mut Vec<FieldIssue>) -> Result<(), ConformError> {
        todo!("schema helper")
    }

    /// Fills in the schema's defaults where a field is absent.
    pub fn apply_defaults(&self, _value: &mut Value) {
        todo!("schema helper")
    }

    /// Compiles the JSON schema of an author's own struct.
    ///
    /// # Errors
    /// It is not the schema of an API object.
    pub fn from_json_schema(
        _json: &Value,
        _kind: crate::api::GroupVersionKind,
    ) -> Result<Self, ConformError> {
        todo!("schema helper")
    }
}
