//! Reading objects as the structs of authors, and writing them back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use crate::api::{ErrorList, FieldError, FieldPath, Object};

/// Deserialises an object into its struct. A mismatch is an error at its field.
pub(crate) fn check<T: DeserializeOwned>(object: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    if let Err(error) = serde_path_to_error::deserialize::<_, T>(object) {
        let (field, value) = field(error.path(), object);
        errors.push(FieldError::invalid(field, value, error.inner().to_string()));
    }
    errors
}

/// Runs a typed change on an object. An object that cannot be deserialised is unchanged: validation rejects it next.
pub(super) fn edit<T: Serialize + DeserializeOwned>(object: &mut Object, change: impl FnOnce(&mut T)) {
    let Ok(mut typed) = object.view::<T>() else { return };
    change(&mut typed);
    if let Ok(mut edited) = Object::from_typed(&typed) {
        drop_absent(&mut edited.0, &object.0);
        edited.set_type(object.api_version(), object.kind());
        *object = edited;
    }
}

/// Removes the fields that are null in an object from a struct and were not null before: serde writes an absent `Option`
/// as null unless the field says otherwise, where Go omits it.
pub(crate) fn drop_absent(written: &mut Map<String, Value>, before: &Map<String, Value>) {
    written.retain(|key, value| !value.is_null() || before.get(key).is_some_and(Value::is_null));
    for (key, value) in written {
        drop_below(value, before.get(key));
    }
}

fn drop_below(written: &mut Value, before: Option<&Value>) {
    match written {
        Value::Object(map) => match before.and_then(Value::as_object) {
            Some(before) => drop_absent(map, before),
            None => drop_absent(map, &Map::new()),
        },
        Value::Array(items) => {
            let before = before.and_then(Value::as_array);
            for (index, item) in items.iter_mut().enumerate() {
                drop_below(item, before.and_then(|before| before.get(index)));
            }
        }
        _ => {}
    }
}

/// Returns the field path in Kubernetes' notation and the field's value. Omits enum variants that do not appear in the
/// JSON.
fn field(path: &Path, object: &Value) -> (FieldPath, Value) {
    let mut field = FieldPath::root();
    let mut value = object;
    for segment in path {
        let (next, below) = match segment {
            Segment::Seq { index } => (value.get(*index), field.index(*index)),
            Segment::Map { key } => (value.get(key), field.child(key)),
            Segment::Enum { variant } => (value.get(variant), field.child(variant)),
            Segment::Unknown => (None, field.clone()),
        };
        let Some(next) = next else { break };
        value = next;
        field = below;
    }
    (field, value.clone())
}
