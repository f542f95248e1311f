//! Defaulting, as in Kubernetes' generated defaulters.

use serde_json::{Map, Value};

use super::types::{Struct, TypeId, TypeShape, TypeTable};

// === impl TypeTable ===

impl TypeTable {
    /// Sets the defaults of a value, recursively.
    pub(super) fn apply_defaults(&self, id: TypeId, value: &mut Value) {
        let ty = self.get(id);
        if !ty.has_defaults {
            return;
        }
        match (&ty.shape, value) {
            (TypeShape::Struct(shape), Value::Object(map)) => self.default_fields(shape, map),
            (TypeShape::List { element, .. }, Value::Array(list)) => {
                for item in list {
                    self.apply_defaults(*element, item);
                }
            }
            (TypeShape::Map { value, .. }, Value::Object(map)) => {
                for item in map.values_mut() {
                    self.apply_defaults(*value, item);
                }
            }
            _ => {}
        }
    }

    fn default_fields(&self, shape: &Struct, map: &mut Map<String, Value>) {
        for field in shape.defaulted_fields() {
            let present = map.get_mut(&*field.name);
            let value = match (present, &field.default) {
                (None, None) => continue,
                // The zero of a non-pointer field is indistinguishable from its absence, and is not stored if omitted.
                (None, Some(default)) if !field.traits.pointer && is_zero(default) => continue,
                (None, Some(default)) => map.entry(&*field.name).or_insert_with(|| (**default).clone()),
                (Some(value), Some(default)) => {
                    if value.is_null() || (!field.traits.pointer && is_zero(value)) {
                        *value = (**default).clone();
                    }
                    value
                }
                (Some(value), None) => value,
            };
            self.apply_defaults(field.ty, value);
        }
    }
}

/// Whether the value is Go's zero value.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}
