//! Empty lists and maps that the stored form does not have.
//!
//! Kubernetes stores protobuf, which cannot distinguish an empty list from an absent one. What a client sends as `[]` is
//! read back as `null`, but until it is stored it is a list, which the client's field manager owns.

use serde_json::{Map, Value};

use super::types::{Struct, TypeId, TypeShape, TypeTable};

// === impl TypeTable ===

impl TypeTable {
    /// Replaces the empty lists and maps that are null in the stored form.
    pub(super) fn nil_empties(&self, id: TypeId, fields: &mut Map<String, Value>) {
        if let TypeShape::Struct(shape) = &self.get(id).shape {
            self.nil_fields(shape, fields);
        }
    }

    fn nil_fields(&self, shape: &Struct, fields: &mut Map<String, Value>) {
        for field in shape.nilled_fields() {
            let Some(value) = fields.get_mut(&*field.name) else { continue };
            if field.traits.nil_when_empty && !field.traits.pointer && is_empty(value) {
                *value = Value::Null;
            } else {
                self.nil_below(field.ty, value);
            }
        }
    }

    fn nil_below(&self, id: TypeId, value: &mut Value) {
        let ty = self.get(id);
        if !ty.has_nils {
            return;
        }
        match (&ty.shape, value) {
            (TypeShape::Struct(shape), Value::Object(map)) => self.nil_fields(shape, map),
            (TypeShape::List { element, .. }, Value::Array(list)) => {
                for item in list {
                    self.nil_below(*element, item);
                }
            }
            (TypeShape::Map { value, .. }, Value::Object(map)) => {
                for item in map.values_mut() {
                    self.nil_below(*value, item);
                }
            }
            _ => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
