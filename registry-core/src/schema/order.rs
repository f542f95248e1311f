//! The order of an object's top-level fields in JSON.

use std::sync::Arc;

use super::Schema;
use super::types::TypeShape;

/// The order in which an object's top-level fields are written. Fields below are written by name.
#[derive(Clone, Copy, Debug)]
pub enum FieldOrder<'a> {
    /// `kind`, `apiVersion`, `metadata`, `spec`, `status`, and all others by name: as kube-apiserver writes the Go struct
    /// of most kinds.
    Usual,
    /// `kind`, `apiVersion`, `metadata`, these fields, and all others by name: as kube-apiserver writes the Go struct of
    /// a kind with other fields.
    Declared(&'a [Arc<str>]),
    /// All by name: as kube-apiserver writes custom resources, for which it has no Go struct.
    ByName,
}

// === impl Schema ===

impl Schema {
    /// Returns the order in which the fields of an object are written.
    pub fn field_order(&self) -> FieldOrder<'_> {
        if self.fields_by_name {
            return FieldOrder::ByName;
        }
        match &self.table.get(self.root).shape {
            TypeShape::Struct(shape) if !shape.order.is_empty() => FieldOrder::Declared(&shape.order),
            _ => FieldOrder::Usual,
        }
    }

    /// Returns the schema of a kind whose objects are written with all fields by name, as those of custom resources
    /// are.
    #[must_use]
    pub fn with_fields_by_name(self) -> Self {
        Self { fields_by_name: true, ..self }
    }
}
