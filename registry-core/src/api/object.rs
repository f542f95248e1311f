//! The one in-flight object type of all resources, built-in, own and custom.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An API object between the wire and the store: a JSON tree that knows where metadata lives.
///
/// Typed structs are views of it: [`Object::view`] reads one out, [`Object::from_typed`] writes one in.
/// Keys are kept sorted, so encoding one is canonical.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

/// An object could not be read as the wanted Rust type, or a Rust value is no object.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A field has another type than the view wants. Not retryable.
    #[error("the object does not fit its kind: {source}")]
    Mismatch {
        /// The Rust type asked for: for logs, clients do not know it.
        type_name: &'static str,
        /// What did not fit, with the field.
        source: serde_json::Error,
    },
    /// The Rust value serialises to something other than a JSON object. Not retryable.
    #[error("the kind's Rust type does not serialise to a JSON object")]
    NotAnObject {
        /// The Rust type given: for logs, clients do not know it.
        type_name: &'static str,
    },
}

// === impl Object: views ===

impl Object {
    /// The object as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Takes a JSON value that is an object; gives it back when it is not.
    pub fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            other => Err(other),
        }
    }

    /// Reads the object as a typed struct.
    pub fn view<T: DeserializeOwned>(&self) -> Result<T, ViewError> {
        T::deserialize(&self.0)
            .map_err(|source| ViewError::Mismatch { type_name: std::any::type_name::<T>(), source })
    }

    /// Writes a typed struct as an object.
    pub fn from_typed<T: Serialize>(typed: &T) -> Result<Self, ViewError> {
        let type_name = std::any::type_name::<T>();
        match serde_json::to_value(typed) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err(ViewError::NotAnObject { type_name }),
            Err(source) => Err(ViewError::Mismatch { type_name, source }),
        }
    }

    /// The value at a path of field names, if every step is there.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |value, step| value.get(*step))
    }

    /// The string at a path; `None` when absent or no string.
    pub fn get_str(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// The whole number at a path; `None` when absent or no such number.
    pub fn get_i64(&self, path: &[&str]) -> Option<i64> {
        self.get(path)?.as_i64()
    }

    /// Sets the value at a path, making the objects on the way (and replacing what is no object).
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

    /// Takes one field over from another object: set when it is there, removed when it is not.
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
    /// `apiVersion`, empty when absent.
    pub fn api_version(&self) -> &str {
        self.get_str(&["apiVersion"]).unwrap_or_default()
    }

    /// `kind`, empty when absent.
    pub fn kind(&self) -> &str {
        self.get_str(&["kind"]).unwrap_or_default()
    }

    /// Sets `apiVersion` and `kind`.
    pub fn set_type(&mut self, api_version: &str, kind: &str) {
        self.0.insert("apiVersion".to_owned(), api_version.into());
        self.0.insert("kind".to_owned(), kind.into());
    }

    /// `metadata.name`, empty when absent.
    pub fn name(&self) -> &str {
        self.metadata_str("name")
    }

    /// `metadata.namespace`, empty when absent.
    pub fn namespace(&self) -> &str {
        self.metadata_str("namespace")
    }

    /// `metadata.uid`, empty when absent.
    pub fn uid(&self) -> &str {
        self.metadata_str("uid")
    }

    /// `metadata.resourceVersion`, empty when absent.
    pub fn resource_version(&self) -> &str {
        self.metadata_str("resourceVersion")
    }

    /// `metadata.generation`, 0 when absent.
    pub fn generation(&self) -> i64 {
        self.get_i64(&["metadata", "generation"]).unwrap_or_default()
    }

    /// `metadata.deletionTimestamp`, when deletion has begun.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.get_str(&["metadata", "deletionTimestamp"])
    }

    /// `metadata.deletionGracePeriodSeconds`, in seconds.
    pub fn deletion_grace_period_seconds(&self) -> Option<i64> {
        self.get_i64(&["metadata", "deletionGracePeriodSeconds"])
    }

    /// `metadata.finalizers`, in order.
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

    /// `metadata.labels` as pairs.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        string_pairs(self.get(&["metadata", "labels"]))
    }

    /// `metadata.annotations` as pairs.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        string_pairs(self.get(&["metadata", "annotations"]))
    }

    /// `metadata`, when it is there.
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("metadata")?.as_object()
    }

    /// `metadata`, made when it is not there.
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

/// The object under `key`, made (or put in the place of what is no object) when need be.
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
