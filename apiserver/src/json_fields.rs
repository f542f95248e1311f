//! Sets fields of JSON documents.

use serde_json::Value;

/// Sets a field of an object.
pub(crate) fn put(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(field.to_owned(), value.into());
    }
}
