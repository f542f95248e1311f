//! Defaulting, as in Kubernetes' generated defaulters.

use serde_json::{Map, Value};

use registry_meta::budget::memory::{self, MAP_BYTES, VALUE_BYTES};
use registry_meta::budget::{Budget, Exhausted};

use super::scalars::is_zero;
use super::types::{Struct, TypeId, TypeShape, TypeTable};

// === impl TypeTable ===

impl TypeTable {
    /// Sets the defaults of a value, recursively.
    pub(super) fn apply_defaults(
        &self,
        id: TypeId,
        value: &mut Value,
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        let ty = self.get(id);
        if !ty.has_defaults {
            return Ok(());
        }
        match (&ty.shape, value) {
            (TypeShape::Struct(shape), Value::Object(map)) => self.default_fields(shape, map, budget),
            (TypeShape::List { element, .. }, Value::Array(list)) => {
                list.iter_mut().try_for_each(|item| self.apply_defaults(*element, item, budget))
            }
            (TypeShape::Map { value, .. }, Value::Object(map)) => {
                map.values_mut().try_for_each(|item| self.apply_defaults(*value, item, budget))
            }
            _ => Ok(()),
        }
    }

    fn default_fields(
        &self,
        shape: &Struct,
        map: &mut Map<String, Value>,
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        budget.take_steps(1)?;
        let mut made = if map.is_empty() { MAP_BYTES } else { 0 };
        for field in shape.defaulted_fields() {
            let present = map.get_mut(&*field.name);
            let value = match (present, &field.default) {
                (None, None) => continue,
                // The zero of a non-pointer field is indistinguishable from its absence, and is not stored if omitted.
                (None, Some(default)) if !field.traits.pointer && is_zero(default) => continue,
                (None, Some(default)) => {
                    made += VALUE_BYTES + memory::value_bytes(default);
                    map.entry(&*field.name).or_insert_with(|| (**default).clone())
                }
                (Some(value), Some(default)) => {
                    if value.is_null() || (!field.traits.pointer && is_zero(value)) {
                        *value = (**default).clone();
                    }
                    value
                }
                (Some(value), None) => value,
            };
            self.apply_defaults(field.ty, value, budget)?;
        }
        budget.take_bytes(made)
    }
}
