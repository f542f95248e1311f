//! Editing parts of an in-flight object: what defaults are written with.

use registry_core::api::Object;
use serde_json::{Map, Value};

/// The fields of one JSON object.
pub(crate) type Fields = Map<String, Value>;

/// Sets a field that is absent.
pub(crate) fn absent(fields: &mut Fields, name: &str, default: impl Into<Value>) {
    if !fields.contains_key(name) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Edits the object under a field, if there is one.
pub(crate) fn with(fields: &mut Fields, name: &str, edit: impl FnOnce(&mut Fields)) {
    if let Some(child) = fields.get_mut(name).and_then(Value::as_object_mut) {
        edit(child);
    }
}

/// Edits every object in the lists under some fields.
pub(crate) fn each(fields: &mut Fields, names: &[&str], edit: impl Fn(&mut Fields)) {
    for name in names {
        let elements = fields.get_mut(*name).and_then(Value::as_array_mut).into_iter().flatten();
        elements.filter_map(Value::as_object_mut).for_each(&edit);
    }
}

/// Sets what is absent, null or an empty string at a path.
pub(crate) fn default_at(object: &mut Object, path: &[&str], default: impl Into<Value>) {
    if matches!(object.get(path), None | Some(Value::Null)) || object.get_str(path) == Some("") {
        object.set(path, default.into());
    }
}

/// Whether a map or list at a path is absent or has nothing in it.
pub(crate) fn is_empty_at(object: &Object, path: &[&str]) -> bool {
    match object.get(path) {
        Some(Value::Object(entries)) => entries.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        other => matches!(other, None | Some(Value::Null)),
    }
}
