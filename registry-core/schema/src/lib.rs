//! Compiled schemas: the fields of a kind, the keys of its lists, and its defaults.
//!
//! Built-in kinds come from a [table of facts](TypeTable::parse) about Kubernetes' Go structs, custom kinds from the
//! JSON schema of the Rust struct. Both are compiled to types in a [`TypeTable`]; a [`Schema`] is a table and its root
//! type. Algorithms on objects (patches, apply, protobuf) traverse the [`TypeRef`]s together with the values.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`patch`] | JSON patch, merge patch, strategic merge patch |
//! | [`codec`] | JSON, YAML, CBOR and protobuf, and the encoding at rest |
//! | `json_schema`, `definition` | the schema of an author's struct, in both forms |
//! | `structural` | the structural schemas of custom kinds: pruning, defaults, validation |
//! | [`openapi`] | schemas as OpenAPI shows them |
//! | `conform`, `defaults`, `empty_fields`, `nil_empties` | algorithms on values: types and unknown fields, defaults, empty lists |
//! | `facts`, `order`, `numbers` | tables of upstream's Go structs, the order and the protobuf numbers of fields |
//! | `types`, `descriptions`, `scalars` | the compiled types |
//! | [`quantity`], `times` | texts that have a form: quantities, times, durations |
//! | `field_issue` | issues of single fields, which leave an object readable |
//! | [`go_regexp`] | regular expressions, as Go has them |
//!
//! Kubernetes concept: [structural schemas](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema)
//! and the markers of `k8s.io/api` (`+listType`, `patchStrategy`, `+default`).

use std::sync::Arc;

use serde_json::{Map, Value};

use registry_meta::ErrorList;
use registry_meta::budget::{Budget, Exhausted};

pub mod codec;
mod conform;
mod defaults;
mod definition;
mod descriptions;
mod empty_fields;
mod facts;
mod field_issue;
pub mod go_regexp;
mod json_schema;
mod nil_empties;
mod numbers;
pub mod openapi;
mod order;
pub mod patch;
pub mod quantity;
mod scalars;
mod structural;
mod times;
mod types;

pub use definition::Definition;
pub use empty_fields::EmptyFields;
pub use facts::FactsError;
pub use field_issue::{FieldIssue, RepeatedKey};
pub use numbers::FieldNumbers;
pub use order::FieldOrder;
pub use quantity::{Quantity, QuantityError};
pub use structural::StructuralSchema;
pub use times::canonical_time;
pub use types::{FieldRef, ListKind, PatchStrategy, Scalar, SchemaOr, TypeRef, TypeTable};
pub(crate) use types::{Form, Message, Slot};

/// A kind's compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    table: Arc<TypeTable>,
    root: types::TypeId,
    /// Finds errors that the types cannot express.
    typed_check: Option<fn(&Value) -> ErrorList>,
    /// Present for custom kinds, which it serves instead of the types.
    structural: Option<Arc<StructuralSchema>>,
    /// Present for the structs of authors, whose objects are validated by it.
    definition: Option<Definition>,
    /// Whether all fields are written by name.
    fields_by_name: bool,
}

/// Error of a value that does not match the schema: a 400 response. The text names the field, as in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConformError {
    /// The message of Go's JSON decoder.
    pub text: String,
    /// The message of Go's converter from maps to structs, which reads the result of a strategic merge patch; `None` if
    /// it is the same.
    pub(crate) of_map: Option<String>,
}

// === impl ConformError ===

impl ConformError {
    /// Returns the message for a map that does not match the kind's struct.
    pub fn map_message(&self) -> &str {
        self.of_map.as_deref().unwrap_or(&self.text)
    }
}

// === impl Schema ===

impl Schema {
    /// Creates the schema with this root type.
    fn with_root(table: Arc<TypeTable>, root: types::TypeId) -> Self {
        Self { table, root, typed_check: None, structural: None, definition: None, fields_by_name: false }
    }

    /// Returns the type of the whole object, to traverse the schema together with a value.
    pub fn root(&self) -> TypeRef<'_> {
        self.table.type_ref(self.root)
    }

    /// Returns the table of the schema's types.
    pub fn table(&self) -> &Arc<TypeTable> {
        &self.table
    }

    /// Normalises a decoded object: checks types, drops unknown fields (adding their paths to `issues`, up to 256 KiB),
    /// drops what Go's `omitempty` omits, adds the empty structs that Go writes, and converts quantities, times and
    /// base64 to their canonical form. Idempotent.
    ///
    /// # Errors
    /// Fails if a value has the wrong type.
    pub fn conform(&self, value: &mut Value, issues: &mut Vec<FieldIssue>) -> Result<(), ConformError> {
        self.normalise(value, issues, None, &Budget::unlimited())
    }

    /// Like [`conform`](Self::conform), but takes the memory of the structs and fields that it adds from a budget.
    ///
    /// # Errors
    /// Fails if a value has the wrong type, or if the budget is exhausted.
    pub fn conform_within(
        &self,
        budget: &Budget,
        value: &mut Value,
        issues: &mut Vec<FieldIssue>,
    ) -> Result<(), ConformError> {
        self.normalise(value, issues, None, budget)
    }

    /// Like [`conform_within`](Self::conform_within), but for an object that a client sent: keeps the empty lists and maps that the stored
    /// form has as null, because they count as set by the client, until [`nil_empties`](Self::nil_empties) brings the object
    /// into the stored form. Notes the lists among these and those that are dropped, except in the metadata, for defaulting and validation.
    ///
    /// # Errors
    /// Fails as `conform_within` does.
    pub fn conform_as_sent(
        &self,
        budget: &Budget,
        value: &mut Value,
        issues: &mut Vec<FieldIssue>,
        empty: &mut EmptyFields,
    ) -> Result<(), ConformError> {
        self.normalise(value, issues, Some(empty), budget)
    }

    fn normalise(
        &self,
        value: &mut Value,
        issues: &mut Vec<FieldIssue>,
        empty: Option<&mut EmptyFields>,
        budget: &Budget,
    ) -> Result<(), ConformError> {
        if let Some(structural) = &self.structural {
            return structural.conform(value, issues);
        }
        let issue_bytes_left = conform::MAX_ISSUE_BYTES;
        let mut walk = conform::Walk { table: &self.table, issues, issue_bytes_left, empty, budget };
        walk.value(self.root, value, conform::ConformContext::Root)
    }

    /// Replaces the empty lists and maps of an object that have no stored form by null.
    pub fn nil_empties(&self, fields: &mut Map<String, Value>) {
        if self.structural.is_none() {
            self.table.nil_empties(self.root, fields);
        }
    }

    /// Sets the schema's defaults for absent fields, and takes their memory from a budget: the defaults of list elements
    /// can be larger than the list by any factor.
    ///
    /// # Errors
    /// Fails if the budget is exhausted. Some defaults are set then.
    pub fn apply_defaults(&self, value: &mut Value, budget: &Budget) -> Result<(), Exhausted> {
        match &self.structural {
            Some(structural) => structural.apply_defaults(value, budget),
            None => self.table.apply_defaults(self.root, value, budget),
        }
    }

    /// Adds a check of what the [definition](Self::definition) cannot express.
    #[must_use]
    pub fn with_typed_check(self, check: fn(&Value) -> ErrorList) -> Self {
        Self { typed_check: Some(check), ..self }
    }

    /// Whether the kind has a protobuf form. Kinds without one (tables, custom resources) are served as JSON, YAML or
    /// CBOR.
    pub fn has_protobuf(&self) -> bool {
        matches!(self.root().form(), Form::Struct(message) if !message.is_empty())
    }

    /// Returns the definition of a compiled-in struct, by which its objects are validated. Kubernetes' own kinds have
    /// code for this, and custom resources the definition that a client wrote.
    pub const fn definition(&self) -> Option<&Definition> {
        self.definition.as_ref()
    }

    /// Checks an object that the definition accepts for what the definition cannot express: values of enums with data.
    pub fn check_typed(&self, value: &Value) -> ErrorList {
        self.typed_check.map_or_else(ErrorList::default, |check| check(value))
    }
}

#[cfg(test)]
mod tests;
