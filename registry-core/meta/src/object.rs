//! The in-memory object type of all resources: built-in, compiled-in and custom.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An API object between the wire and the store: a JSON tree with accessors for its metadata.
///
/// Typed structs are views of it: [`Object::view`] deserialises one, [`Object::from_typed`] serialises one. Keys are
/// kept sorted, so the encoding is canonical.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

/// Error of a conversion between an object and a Rust type.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A field's type differs from the one in the Rust type. Not retryable.
    #[error("the object does not fit its kind: {source}")]
    Mismatch {
        /// The requested Rust type; for logs only, clients do not know it.
        type_name: &'static str,
        /// The mismatch, with the field.
        source: serde_json::Error,
    },
    /// The Rust value serialises to something other than a JSON object. Not retryable.
    #[error("the kind's Rust type does not serialise to a JSON object")]
    NotAnObject {
        /// The given Rust type; for logs only, clients do not know it.
        type_name: &'static str,
    },
}

// === impl Object: views ===

impl Object {
    /// Returns the object as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Converts a JSON object; returns the value unchanged if it is not an object.
    pub fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            other => Err(other),
        }
    }

    /// Shows the object to `read` as a JSON value, without copying it.
    pub fn with_value<T>(&mut self, read: impl FnOnce(&Value) -> T) -> T {
        let value = std::mem::take(self).into_value();
        let result = read(&value);
        if let Value::Object(fields) = value {
            self.0 = fields;
        }
        result
    }

    /// Deserialises the object into a typed struct.
    pub fn view<T: DeserializeOwned>(&self) -> Result<T, ViewError> {
        T::deserialize(&self.0)
            .map_err(|source| ViewError::Mismatch { type_name: std::any::type_name::<T>(), source })
    }

    /// Serialises a typed struct into an object.
    pub fn from_typed<T: Serialize>(typed: &T) -> Result<Self, ViewError> {
        let type_name = std::any::type_name::<T>();
        match serde_json::to_value(typed) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err(ViewError::NotAnObject { type_name }),
            Err(source) => Err(ViewError::Mismatch { type_name, source }),
        }
    }

    /// Returns the value at a path of field names, if present.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |value, step| value.get(*step))
    }

    /// Returns the string at a path; `None` if absent or not a string.
    pub fn get_str(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// Returns the integer at a path; `None` if absent or not an `i64`.
    pub fn get_i64(&self, path: &[&str]) -> Option<i64> {
        self.get(path)?.as_i64()
    }

    /// Sets the value at a path; creates intermediate objects, replacing values that are not objects.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut map = &mut self.0;
        for step in parents {
            map = child_map(map, step);
        }
        map.insert((*last).to_owned(), value);
    }

    /// Removes and returns the value at a path.
    pub fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        let mut map = &mut self.0;
        for step in parents {
            map = map.get_mut(*step)?.as_object_mut()?;
        }
        map.remove(*last)
    }

    /// Copies one field from another object; removes it if the other object does not have it.
    pub fn copy_field(&mut self, from: &Self, path: &[&str]) {
        match from.get(path) {
            Some(value) => self.set(path, value.clone()),
            None => {
                self.remove(path);
            }
        }
    }
}

// === impl Object: type and metadata ===

impl Object {
    /// Returns `apiVersion`, or an empty string.
    pub fn api_version(&self) -> &str {
        self.get_str(&["apiVersion"]).unwrap_or_default()
    }

    /// Returns `kind`, or an empty string.
    pub fn kind(&self) -> &str {
        self.get_str(&["kind"]).unwrap_or_default()
    }

    /// Sets `apiVersion` and `kind`.
    pub fn set_type(&mut self, api_version: &str, kind: &str) {
        self.0.insert("apiVersion".to_owned(), api_version.into());
        self.0.insert("kind".to_owned(), kind.into());
    }

    /// Returns `metadata.name`, or an empty string.
    pub fn name(&self) -> &str {
        self.metadata_str("name")
    }

    /// Returns `metadata.namespace`, or an empty string.
    pub fn namespace(&self) -> &str {
        self.metadata_str("namespace")
    }

    /// Returns `metadata.uid`, or an empty string.
    pub fn uid(&self) -> &str {
        self.metadata_str("uid")
    }

    /// Returns `metadata.resourceVersion`, or an empty string.
    pub fn resource_version(&self) -> &str {
        self.metadata_str("resourceVersion")
    }

    /// Returns `metadata.generation`, or 0.
    pub fn generation(&self) -> i64 {
        self.get_i64(&["metadata", "generation"]).unwrap_or_default()
    }

    /// Returns `metadata.deletionTimestamp`; `None` if the object is not being deleted.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.get_str(&["metadata", "deletionTimestamp"])
    }

    /// Returns `metadata.deletionGracePeriodSeconds`, in seconds.
    pub fn deletion_grace_period_seconds(&self) -> Option<i64> {
        self.get_i64(&["metadata", "deletionGracePeriodSeconds"])
    }

    /// Iterates over `metadata.finalizers`, in order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.get(&["metadata", "finalizers"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// Sets `metadata.finalizers`; an empty list removes the field.
    pub fn set_finalizers(&mut self, finalizers: Vec<String>) {
        if finalizers.is_empty() {
            self.metadata_mut().remove("finalizers");
        } else {
            self.metadata_mut().insert("finalizers".to_owned(), finalizers.into());
        }
    }

    /// Iterates over `metadata.labels`.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        string_pairs(self.get(&["metadata", "labels"]))
    }

    /// Iterates over `metadata.annotations`.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        string_pairs(self.get(&["metadata", "annotations"]))
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.get_str(&["metadata", "labels", key])
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.get_str(&["metadata", "annotations", key])
    }

    /// Returns `metadata`, if present.
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("metadata")?.as_object()
    }

    /// Returns `metadata`, creating it if absent.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        child_map(&mut self.0, "metadata")
    }

    fn metadata_str(&self, field: &str) -> &str {
        self.get_str(&["metadata", field]).unwrap_or_default()
    }
}

fn string_pairs(value: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// Returns the object under `key`, creating it if absent and replacing a value that is not an object.
fn child_map<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(child) => child,
        _ => unreachable!("made an object just above"),
    }
}
