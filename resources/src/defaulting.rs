//! Defaults that strategies fill into objects: where something is absent, null or empty text.

use registry_core::api::Object;
use serde_json::Value;

/// The value at a path inside an object, if every step is there.
pub(crate) fn at<'a>(object: &'a mut Object, path: &[&str]) -> Option<&'a mut Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.0.get_mut(*first)?, |value, step| value.get_mut(*step))
}

/// The elements of the list in a field of a value; none when it is absent.
pub(crate) fn elements<'a>(
    value: Option<&'a mut Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = value.and_then(|value| value.get_mut(field)).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Fills in one field of a value that is an object.
pub(crate) fn fill(value: &mut Value, field: &str, default: impl Into<Value>) {
    let Some(map) = value.as_object_mut() else { return };
    let is_absent = match map.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if is_absent {
        map.insert(field.to_owned(), default.into());
    }
}

/// Fills in one top-level field.
pub(crate) fn fill_top(object: &mut Object, field: &str, default: impl Into<Value>) {
    if matches!(object.0.get(field), None | Some(Value::Null)) || object.get_str(&[field]) == Some("") {
        object.0.insert(field.to_owned(), default.into());
    }
}

/// Adds a finalizer unless it is there.
pub(crate) fn add_finalizer(object: &mut Object, finalizer: &str) {
    if object.finalizers().any(|present| present == finalizer) {
        return;
    }
    let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
    finalizers.push(finalizer.to_owned());
    object.set_finalizers(finalizers);
}

/// For kinds whose `status` subresource leaves the metadata alone: all but its managers.
pub(crate) fn keep_metadata(new: &mut Object, old: &Object) {
    let managed = new.remove(&["metadata", "managedFields"]);
    new.copy_field(old, &["metadata"]);
    match managed {
        Some(managed) => new.set(&["metadata", "managedFields"], managed),
        None => {
            new.remove(&["metadata", "managedFields"]);
        }
    }
}
