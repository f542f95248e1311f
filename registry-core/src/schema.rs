//! One compiled form per kind: what its fields are, which are lists with keys, what their defaults are.
//!
//! Built-in kinds come from a [table of facts](TypeTable::parse) about Kubernetes' Go structs, an author's own
//! from the JSON schema of the Rust struct. Both end as types in a [`TypeTable`]; a [`Schema`] is a table and
//! the type to begin at. Engines that walk objects (patches, apply, protobuf) walk [`TypeRef`]s beside them.
//!
//! Kubernetes concept: [structural schemas](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema)
//! and the markers of `k8s.io/api` (`+listType`, `patchStrategy`, `+default`).

use std::sync::Arc;

use serde_json::Value;

mod types;

pub use types::{FieldRef, ListKind, PatchStrategy, TypeRef, TypeTable};

/// A kind's compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    table: Arc<TypeTable>,
    root: types::TypeId,
}

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

// === impl Schema ===

impl Schema {
    /// The type of the whole object, to walk the schema beside a value.
    pub fn root(&self) -> TypeRef<'_> {
        self.table.type_ref(self.root)
    }

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
}
