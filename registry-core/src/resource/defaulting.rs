//! The defaults of a decoded object.

use serde_json::Value;

use crate::api::{Object, StatusError};
use crate::codec::json;
use crate::context::Budget;
use crate::schema::{EmptyFields, Schema};

/// Returns an object with the defaults of its schema, and those that depend on other fields. A list that was sent empty gets
/// none.
///
/// # Errors
/// 413 if they take too much memory.
pub fn with_defaults(
    mut object: Object,
    empty_fields: Option<&EmptyFields>,
    schema: &Schema,
    apply_dependent: impl FnOnce(&mut Object),
    budget: &Budget,
) -> Result<Object, StatusError> {
    if let Some(empty) = empty_fields {
        empty.put_back(&mut object, |_| true);
    }
    let mut value = object.into_value();
    schema.apply_defaults(&mut value, budget)?;
    let mut object = in_form(value)?;
    apply_dependent(&mut object);
    if let Some(empty) = empty_fields {
        empty.take_out(&mut object);
    }
    Ok(object)
}

/// Returns the object that a schema has changed.
///
/// # Errors
/// 500 if it is none any longer.
pub fn in_form(value: Value) -> Result<Object, StatusError> {
    let changed = |value| format!("the schema turned an object into {}", json::type_name(&value));
    Object::from_value(value).map_err(|value| StatusError::internal(changed(value)))
}
