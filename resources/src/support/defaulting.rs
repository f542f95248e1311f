//! Edits of in-flight objects, for defaulting.
//!
//! A default replaces a field that is *unset*: missing, null, or empty text. That is a field's zero value in
//! Kubernetes.

use registry_core::api::Object;
pub(crate) use resource_views::slot::{Fields, is_unset};
use serde_json::Value;

/// Sets a field that is unset.
pub(crate) fn fill(fields: &mut Fields, name: &str, default: impl Into<Value>) {
    if is_unset(fields.get(name)) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets a field that is missing or null, for fields whose empty text is a value.
pub(crate) fn fill_absent(fields: &mut Fields, name: &str, default: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets the field at a path if it is unset; creates the objects on the path.
pub(crate) fn fill_at(object: &mut Object, path: &[&str], default: impl Into<Value>) {
    if is_unset(object.get(path)) {
        object.set(path, default.into());
    }
}

/// Edits the object at a path, if there is one.
pub(crate) fn with_at(object: &mut Object, path: &[&str], edit: impl FnOnce(&mut Fields)) {
    let found = path.iter().try_fold(&mut object.0, |fields, step| fields.get_mut(*step)?.as_object_mut());
    if let Some(fields) = found {
        edit(fields);
    }
}

/// Edits every object in the lists under some fields.
pub(crate) fn each(fields: &mut Fields, names: &[&str], edit: impl Fn(&mut Fields)) {
    for name in names {
        let elements = fields.get_mut(*name).and_then(Value::as_array_mut).into_iter().flatten();
        elements.filter_map(Value::as_object_mut).for_each(&edit);
    }
}

/// Whether a field is unset, or an empty map or list.
pub(crate) fn is_empty(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Object(entries)) => entries.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        other => is_unset(other),
    }
}

/// [`is_empty`] for the field at a path.
pub(crate) fn is_empty_at(object: &Object, path: &[&str]) -> bool {
    is_empty(object.get(path))
}

/// Adds a finalizer unless it is present.
pub(crate) fn add_finalizer(object: &mut Object, finalizer: &str) {
    if object.finalizers().any(|present| present == finalizer) {
        return;
    }
    let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
    finalizers.push(finalizer.to_owned());
    object.set_finalizers(finalizers);
}

/// Restores the metadata except for its managers, for kinds whose `status` subresource does not change metadata.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_default_replaces_what_is_unset_and_nothing_else() {
        for (given, expected) in [
            (json!({}), json!("d")),
            (json!({"a": null}), json!("d")),
            (json!({"a": ""}), json!("d")),
            (json!({"a": 0}), json!(0)),
            (json!({"a": false}), json!(false)),
            (json!({"a": []}), json!([])),
        ] {
            let mut object = Object::from_value(given.clone()).unwrap();
            fill_at(&mut object, &["a"], "d");
            assert_eq!(object.get(&["a"]), Some(&expected));
            let mut fields = Object::from_value(given).unwrap().0;
            fill(&mut fields, "a", "d");
            assert_eq!(fields.get("a"), Some(&expected));
        }
    }
}
