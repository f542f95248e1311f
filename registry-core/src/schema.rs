//! One compiled form per kind: what its fields are, which are lists with keys, what their defaults are.
//!
//! Built-in kinds come from a [table of facts](TypeTable::parse) about Kubernetes' Go structs, an author's own
//! from the JSON schema of the Rust struct. Both end as types in a [`TypeTable`]; a [`Schema`] is a table and
//! the type to begin at. Engines that walk objects (patches, apply, protobuf) walk [`TypeRef`]s beside them.
//!
//! Kubernetes concept: [structural schemas](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema)
//! and the markers of `k8s.io/api` (`+listType`, `patchStrategy`, `+default`).

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::api::{ErrorList, FieldPath};

mod conform;
mod defaults;
mod descriptions;
mod facts;
mod json_schema;
mod numbers;
pub mod openapi;
pub mod quantity;
mod rules;
mod scalars;
mod times;
mod types;
mod validate;

pub use facts::FactsError;
pub use numbers::FieldNumbers;
pub use quantity::{Quantity, QuantityError};
pub use types::{FieldRef, ListKind, PatchStrategy, Scalar, SchemaOr, TypeRef, TypeTable};
pub(crate) use types::{Form, Message, Slot};

/// A kind's compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    table: Arc<TypeTable>,
    root: types::TypeId,
    /// Finds what is wrong with an object that the types cannot express.
    typed_check: Option<fn(&Value) -> ErrorList>,
}

/// Something odd about one field that decoding can live with: field validation decides what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldIssue {
    /// The schema has no such field; it was dropped.
    Unknown(String),
}

/// The issue as strict decoding errors and warnings word it.
impl fmt::Display for FieldIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(path) => write!(f, "unknown field {path:?}"),
        }
    }
}

/// A value does not fit the schema: 400 at the edge. The text names the field, as Kubernetes does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConformError {
    /// In the words of Go's JSON decoder.
    pub text: String,
    /// In the words of Go's converter from maps to structs, which reads what a strategic merge patch made; `None`:
    /// the same.
    pub(crate) of_map: Option<String>,
}

// === impl ConformError ===

impl ConformError {
    /// Why a map is none of the kind's structs.
    pub fn of_map(&self) -> &str {
        self.of_map.as_deref().unwrap_or(&self.text)
    }
}

// === impl Schema ===

impl Schema {
    /// The type of the whole object, to walk the schema beside a value.
    pub fn root(&self) -> TypeRef<'_> {
        self.table.type_ref(self.root)
    }

    /// The table the schema's types live in.
    pub fn table(&self) -> &Arc<TypeTable> {
        &self.table
    }

    /// Brings a decoded object into the form the server keeps: checks types, drops unknown fields (adding
    /// their paths to `issues`, up to 256 KiB), drops what Go's `omitempty` would, adds the empty structs Go would write, and writes
    /// quantities, times and base64 the canonical way. Doing it again changes nothing.
    ///
    /// # Errors
    /// A field has a type it cannot have.
    pub fn conform(&self, value: &mut Value, issues: &mut Vec<FieldIssue>) -> Result<(), ConformError> {
        let issue_bytes_left = conform::MAX_ISSUE_BYTES;
        conform::Walk { table: &self.table, issues, issue_bytes_left }.value(
            self.root,
            value,
            conform::ConformContext::Root,
        )
    }

    /// Fills in the schema's defaults where a field is absent.
    pub fn apply_defaults(&self, value: &mut Value) {
        self.table.apply_defaults(self.root, value);
    }

    /// The same schema, which also runs this check when an object is [validated](Self::validate).
    #[must_use]
    pub fn with_typed_check(self, check: fn(&Value) -> ErrorList) -> Self {
        Self { typed_check: Some(check), ..self }
    }

    /// Whether the kind has a protobuf form. Those without one (tables, custom resources) are given and taken as
    /// JSON, YAML or CBOR.
    pub fn has_protobuf(&self) -> bool {
        matches!(self.root().form(), Form::Struct(message) if !message.is_empty())
    }

    /// Whether [`validate`](Self::validate) can find anything: an author's schema says what values there may be.
    pub fn has_rules(&self) -> bool {
        matches!(self.table.dialect, types::Dialect::JsonSchema)
    }

    /// Checks a conformed object against what an author's schema demands beyond types: required fields, ranges,
    /// lengths, patterns, enums, distinct list keys. Kubernetes' own kinds have Go code for this, and no such rules.
    pub fn validate(&self, value: &Value) -> ErrorList {
        let mut errors = ErrorList::default();
        self.table.validate(self.root, value, &FieldPath::root(), &mut errors);
        // A value that breaks a rule would be reported twice.
        if let Some(check) = self.typed_check
            && errors.is_empty()
        {
            errors.append(check(value));
        }
        errors
    }
}

#[cfg(test)]
mod tests;
