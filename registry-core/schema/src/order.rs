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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::TypeTable;
    use registry_meta::GroupVersionKind;

    #[test]
    fn kinds_declare_an_order_that_is_not_the_usual_one() {
        const FACTS: &str = "orlop facts 1\n\
            s string - string\n\
            t - a.v1.Usual\n spec 0 e 1\n status 0 e 2\n\
            t - a.v1.Other\n data 0 e 1\n immutable 0 e 2\n\
            k 1 a v1 Usual\n\
            k 2 a v1 Other immutable,data\n";
        let table = Arc::new(TypeTable::parse(FACTS).unwrap());
        let usual = table.schema_of("a/v1", "Usual").unwrap();
        assert!(matches!(usual.field_order(), FieldOrder::Usual));
        let other = table.schema_of("a/v1", "Other").unwrap();
        let FieldOrder::Declared(names) = other.field_order() else { panic!("it is declared") };
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["immutable", "data"]);
        assert!(matches!(other.with_fields_by_name().field_order(), FieldOrder::ByName));
        let kind = GroupVersionKind { group: "a", version: "v1", kind: "Own" };
        let own = Schema::from_json_schema(&json!({"type": "object"}), kind);
        assert!(matches!(own.field_order(), FieldOrder::Usual));
    }
}
