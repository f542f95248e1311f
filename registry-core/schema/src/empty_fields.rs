//! The empty lists that a client sent.
//!
//! Go's decoder keeps an empty list apart from an absent one, and `omitempty` drops it when the object is written. Defaulting
//! and validation happen in between, and some of their rules see the difference. No rule distinguishes empty maps from absent
//! maps, so that maps are left out: an empty map would look like an empty struct.

use serde_json::{Map, Value};

use registry_meta::Object;

/// Maximum total length of the noted paths, in bytes. A hostile body can have very many of them.
const MAX_PATH_BYTES: usize = 64 * 1024;
/// Number of bytes that a step counts for beside its name.
pub(super) const STEP_BYTES: usize = 16;

/// The places of empty lists that the object's stored form does not have. They belong to the object in the kind and version
/// in which it was decoded.
#[derive(Clone, Debug, Default)]
pub struct EmptyFields {
    fields: Vec<EmptyField>,
    path_bytes: usize,
}

#[derive(Clone, Debug)]
struct EmptyField {
    path: Vec<Step>,
    /// Whether the stored form has a null instead.
    is_null: bool,
}

/// A step of a path.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(String),
    Index(usize),
}

// === impl EmptyFields ===

impl EmptyFields {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Adds a field whose path has a length in bytes, within the limit of all of them.
    pub(super) fn note(&mut self, bytes: usize, path: impl FnOnce() -> Vec<Step>, is_null: bool) {
        if self.path_bytes + bytes > MAX_PATH_BYTES {
            return;
        }
        self.path_bytes += bytes;
        self.fields.push(EmptyField { path: path(), is_null });
    }

    /// Puts the lists back, below the top-level fields that `is_wanted` accepts. Fields that have a value meanwhile,
    /// and those whose parent does not exist any more, are left alone.
    pub fn put_back(&self, object: &mut Object, is_wanted: impl Fn(&str) -> bool) {
        for field in self.fields.iter().filter(|field| field.root().is_some_and(&is_wanted)) {
            let Some((fields, name)) = field.place(&mut object.0) else { continue };
            if fields.get(name).is_none_or(Value::is_null) {
                fields.insert(name.to_owned(), Value::Array(Vec::new()));
            }
        }
    }

    /// Removes the lists that are still empty, except those that the stored form has as null: until
    /// [`Schema::nil_empties`](super::Schema::nil_empties) they count as set by the client.
    pub fn take_out(&self, object: &mut Object) {
        for field in self.fields.iter().filter(|field| !field.is_null) {
            let Some((fields, name)) = field.place(&mut object.0) else { continue };
            let is_empty = fields.get(name).and_then(Value::as_array).is_some_and(Vec::is_empty);
            if is_empty {
                fields.remove(name);
            }
        }
    }
}

// === impl EmptyField ===

impl EmptyField {
    fn root(&self) -> Option<&str> {
        match self.path.first()? {
            Step::Field(name) => Some(name),
            Step::Index(_) => None,
        }
    }

    /// Returns the object that has the field, and the field's name.
    fn place<'f, 'o>(
        &'f self,
        object: &'o mut Map<String, Value>,
    ) -> Option<(&'o mut Map<String, Value>, &'f str)> {
        let (Step::Field(name), parents) = self.path.split_last()? else { return None };
        let Some((Step::Field(first), parents)) = parents.split_first() else { return Some((object, name)) };
        let mut value = object.get_mut(first)?;
        for step in parents {
            value = match step {
                Step::Field(name) => value.get_mut(name)?,
                Step::Index(index) => value.get_mut(*index)?,
            };
        }
        Some((value.as_object_mut()?, name))
    }
}

#[cfg(test)]
mod tests;
