//! Structural schemas: the schemas that have this form, their depth, and the fields that describe a value.

use serde_json::{Map, Value};

use super::extensions::{PRESERVE_UNKNOWN_FIELDS, is_set, is_true};

/// Fields without a structural form, which definitions cannot have.
const UNSUPPORTED: [&str; 7] =
    ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];

/// The number of levels that a schema may still have. Requests cannot nest as deep as the first one allows.
#[derive(Clone, Copy)]
pub(super) struct Levels(u8);

// === impl Levels ===

impl Levels {
    pub(super) const ALL: Self = Self(128);

    /// Returns the levels below this one; `None` if there are none.
    pub(super) fn next(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

/// Whether nothing in this schema itself prevents a structural form.
pub(super) fn is_convertible(schema: &Map<String, Value>) -> bool {
    let is_unsupported = |name: &&str| schema.get(*name).is_some_and(is_set);
    let forbids_unknown = schema.get(PRESERVE_UNKNOWN_FIELDS) == Some(&Value::Bool(false));
    let has_tuple = schema.get("items").is_some_and(Value::is_array);
    !UNSUPPORTED.iter().any(is_unsupported) && !forbids_unknown && !has_tuple
}

/// Copies what describes a value without restricting it.
pub(super) fn copy_generics(from: &mut Map<String, Value>, to: &mut Map<String, Value>) {
    for name in ["type", "description", "title"] {
        if let Some(value) = from.remove(name).filter(is_set) {
            to.insert(name.to_owned(), value);
        }
    }
    for name in ["default", "example"] {
        if let Some(value) = from.remove(name).filter(|value| !value.is_null()) {
            to.insert(name.to_owned(), value);
        }
    }
    if is_true(from, "nullable") {
        to.insert("nullable".to_owned(), true.into());
    }
    if let Some(Value::Object(mut documentation)) = from.remove("externalDocs") {
        documentation.retain(|_, text| is_set(text));
        to.insert("externalDocs".to_owned(), documentation.into());
    }
}
