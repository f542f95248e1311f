//! One encoded object: its bytes, and the parts they are cut into.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use registry_core::api::{Object, StatusError};
use registry_core::codec::json::Parts;
use registry_core::codec::stored;
use registry_core::storage::{Encoding, EncodingBudget, Entry};
use serde_json::{Map, Value};

/// An encoded object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// The object as JSON.
    pub(crate) json: &'a [u8],
    /// The bytes from the first field after `kind` and `apiVersion`; empty when unknown.
    pub(crate) tail: &'a [u8],
    /// The resource version, if it is known without parsing.
    pub(crate) revision: Option<u64>,
    /// The stored entry, with its cached encodings.
    entry: Option<&'a Entry>,
}

/// The part of an object that is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// Its metadata.
    Metadata,
}

// === impl Item ===

impl<'a> Item<'a> {
    /// Returns the item of a stored object.
    pub(crate) fn stored(entry: &'a Entry) -> Self {
        Self { json: entry.json(), tail: entry.tail(), revision: Some(entry.revision), entry: Some(entry) }
    }

    /// Returns the item of an object that was encoded for this response.
    pub(crate) fn encoded(json: &'a [u8]) -> Self {
        Self { json, tail: b"", revision: None, entry: None }
    }

    /// Returns whether the object is stored.
    pub(crate) fn is_stored(&self) -> bool {
        self.entry.is_some()
    }

    /// Returns the JSON of `metadata`. Canonical bytes are sliced, others are parsed.
    ///
    /// # Errors
    /// 500 if the bytes are not an object.
    pub(crate) fn metadata(&self) -> Result<Cow<'a, [u8]>, StatusError> {
        if let Some(cut) = self.entry.and_then(Entry::metadata) {
            return Ok(Cow::Borrowed(cut));
        }
        let parsed = self.object()?;
        let metadata = parsed.0.get("metadata").filter(|metadata| metadata.is_object());
        Ok(Cow::Owned(metadata.map_or_else(|| b"{}".to_vec(), |metadata| metadata.to_string().into_bytes())))
    }

    /// Returns the object.
    ///
    /// # Errors
    /// 500 if the bytes are not an object.
    pub(crate) fn object(&self) -> Result<Object, StatusError> {
        stored::decode(self.json).map_err(|error| self.unreadable(&error))
    }

    /// Returns parts of the object.
    ///
    /// # Errors
    /// 500 if the bytes are not an object.
    pub(crate) fn parts(&self, parts: Parts) -> Result<Object, StatusError> {
        stored::decode_parts(self.json, parts).map_err(|error| self.unreadable(&error))
    }

    /// Returns the fields of the object, or `metadata` as the only one.
    ///
    /// # Errors
    /// 500 if the bytes are not an object.
    pub(crate) fn fields(&self, part: Part) -> Result<Map<String, Value>, StatusError> {
        match part {
            Part::Whole => Ok(self.object()?.0),
            Part::Metadata => {
                let metadata = stored::decode(&self.metadata()?).map_err(|error| self.unreadable(&error))?;
                Ok(Map::from_iter([("metadata".to_owned(), metadata.into_value())]))
            }
        }
    }

    /// Returns the 500 of bytes that cannot be decoded, or of values that do not have the types of their fields.
    pub(crate) fn unreadable(&self, error: &impl Display) -> StatusError {
        match self.entry {
            Some(entry) => {
                let key = &entry.key;
                StatusError::internal(format!("the stored value of {key} cannot be read: {error}"))
            }
            None => StatusError::internal(error),
        }
    }

    /// Returns the object in an encoding. A stored object is encoded once for all clients.
    ///
    /// # Errors
    /// Fails if `make` does.
    pub(crate) fn in_encoding(
        &self,
        encoding: Encoding,
        budget: &Arc<EncodingBudget>,
        make: impl Fn() -> Result<Bytes, StatusError>,
    ) -> Result<Bytes, StatusError> {
        let made = self.entry.and_then(|entry| entry.encoded(encoding, budget, || make().ok()));
        // Encodes again to get the error.
        made.map_or_else(make, Ok)
    }
}
