//! A stored object at one revision: encoded once, attributes extracted once, shared by all readers.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures::future::BoxFuture;

use registry_meta::{GroupVersion, Object};
use registry_schema::FieldOrder;
use registry_schema::codec::json::scan::Scanner;
use registry_schema::codec::protobuf::MAGIC;
use registry_schema::codec::stored;
use serde::de::DeserializeOwned;

use super::Revision;

mod attributes;
mod encodings;

pub use attributes::Attributes;
use encodings::Encodings;
pub use encodings::{Encoding, EncodingBudget};

/// A stored object; cheap to clone.
pub type StoredObject = Arc<Entry>;

/// An object at one revision.
#[derive(Debug)]
pub struct Entry {
    /// The full key, for example `/registry/pods/default/web`.
    pub key: Arc<str>,
    /// The revision that wrote this state; the `resourceVersion` that clients see.
    pub revision: Revision,
    /// The object as JSON, including `metadata.resourceVersion`, and a newline.
    line: Bytes,
    /// Offset in the JSON of the fields after `kind` and `apiVersion`; the end, if it is not known.
    item_offset: u32,
    /// The attributes that selectors and indexes evaluate.
    pub attributes: Attributes,
    /// Length of `metadata`, computed on first use; 0 before.
    metadata_len: AtomicU32,
    /// Encodings other than JSON, and conversions to other versions.
    encodings: Encodings,
}

/// A text in JSON, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Error of a stored value that is not an object of its resource, with the cause. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct InvalidValue(Box<dyn std::error::Error + Send + Sync>);

/// Extracts attributes from a stored value: connects a resource's AttrFunc to a backend when the backend is opened.
///
/// Kubernetes concept: `storage.AttrFunc`.
pub trait AttributesOf: Send + Sync + 'static {
    /// Returns the attributes of a value (the canonical encoding, with or without `resourceVersion`).
    ///
    /// # Errors
    /// Fails if the value is not an object of the resource: something else wrote it, or it is damaged.
    fn attributes_of(&self, value: &[u8]) -> Result<Attributes, InvalidValue>;

    /// Returns the encoding in which a canonical value is stored; `None` if it is stored as it is.
    ///
    /// # Errors
    /// Fails if it cannot be converted.
    fn at_rest(&self, _canonical: &[u8]) -> Result<Option<Bytes>, StoredVersionError> {
        Ok(None)
    }

    /// Returns the canonical encoding of a value stored in another form: as protobuf (it begins with [`MAGIC`]), in another
    /// version of the kind, under an earlier schema, or by a server with other checks or defaults.
    ///
    /// # Errors
    /// Fails if the value is not an object of the resource, or if the resource has no protobuf decoder, which is what
    /// the default implementation assumes.
    fn canonical(&self, value: &[u8]) -> Result<CanonicalForm, InvalidValue> {
        if value.starts_with(MAGIC) {
            return Err(InvalidValue::new("it is Kubernetes protobuf, and the resource has none"));
        }
        Ok(CanonicalForm::Same)
    }
}

/// A value cannot be converted into the version in which it is stored. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be converted into the stored version: {0}")]
pub struct StoredVersionError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The canonical encoding of a stored value.
pub enum CanonicalForm {
    /// The value is canonical.
    Same,
    /// This encoding.
    Other(Bytes),
    /// The encoding that a service outside of this process makes.
    Awaited(BoxFuture<'static, Result<Bytes, InvalidValue>>),
}

// === impl InvalidValue ===

impl InvalidValue {
    /// Creates the error with its cause, whose text is shown.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

// === impl Entry ===

impl Entry {
    /// Creates an entry with its JSON; other encodings are created on demand. `line` is the JSON with a newline, which is
    /// added if it is missing. `item_offset` is the offset of `"metadata"` if only `kind` and `apiVersion` precede it,
    /// and otherwise the length of the line: see [`with_resource_version`](stored::with_resource_version).
    pub fn new(
        key: Arc<str>,
        revision: Revision,
        line: Bytes,
        item_offset: u32,
        attributes: Attributes,
    ) -> Self {
        let line = if line.ends_with(b"\n") { line } else { [&line[..], b"\n"].concat().into() };
        let metadata_len = AtomicU32::new(0);
        let encodings = Encodings::default();
        Self { key, revision, line, item_offset, attributes, metadata_len, encodings }
    }

    /// Creates an entry of an object that is not stored, as the lists of virtual resources have them. It has no revision, and
    /// no labels or fields: who makes the list has selected the objects already.
    pub fn unstored(object: &Object) -> Self {
        let line = stored::encode(object, FieldOrder::Usual);
        Self::new(object.name().into(), 0, line, u32::MAX, Attributes::default())
    }

    /// Creates an entry of the same object at another revision; `line` has the same fields at the same places up to
    /// the resource version.
    pub(super) fn at_revision(&self, revision: Revision, line: Bytes) -> Self {
        let item_offset = if self.tail().is_empty() { u32::MAX } else { self.item_offset };
        Self::new(Arc::clone(&self.key), revision, line, item_offset, self.attributes.clone())
    }

    /// Returns the object as JSON, including `metadata.resourceVersion`.
    pub fn json(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or(&self.line)
    }

    /// Returns the JSON with a newline: the exact bytes of the response to a `get`.
    pub fn line(&self) -> &Bytes {
        &self.line
    }

    /// Returns the JSON from the first field after `kind` and `apiVersion` on (the `"` of `"metadata"`): items of a
    /// typed list are written without those two fields, as `{` and this tail. Empty if its offset is not known.
    pub fn tail(&self) -> &[u8] {
        let tail = usize::try_from(self.item_offset).ok().and_then(|offset| self.json().get(offset..));
        tail.unwrap_or_default()
    }

    /// Returns the JSON of `metadata`, a part of [`json`](Self::json), located once. `None` if the JSON is not
    /// canonical.
    pub fn metadata(&self) -> Option<&[u8]> {
        let rest = self.metadata_onward()?;
        let known = usize::try_from(self.metadata_len.load(Ordering::Relaxed)).unwrap_or_default();
        if known > 0 {
            return rest.get(..known);
        }
        let len = stored::value_len(rest)?;
        // A length beyond 32 bits is computed again each time.
        self.metadata_len.store(u32::try_from(len).unwrap_or_default(), Ordering::Relaxed);
        rest.get(..len)
    }

    /// Decodes `metadata` without the managers of fields, which are most of it. `None` if the JSON is not canonical, or the
    /// metadata is no `T`.
    pub fn decode_metadata<T: DeserializeOwned>(&self) -> Option<T> {
        let mut scanner = Scanner::new(self.metadata_onward()?)?;
        let mut decoded = String::with_capacity(512);
        let mut has_next = scanner.open()?;
        while has_next {
            let (name, value) = (scanner.key()?, scanner.value_text()?);
            if name != "managedFields" {
                decoded.extend([if decoded.is_empty() { "{\"" } else { ",\"" }, name, "\":", value]);
            }
            has_next = scanner.has_next(b'}')?;
        }
        decoded.push_str(if decoded.is_empty() { "{}" } else { "}" });
        serde_json::from_str(&decoded).ok()
    }

    /// Returns a text in `metadata`, empty if it has none. `None` if the JSON is not canonical, or the field is not text.
    pub fn metadata_text(&self, field: &str) -> Option<Cow<'_, str>> {
        let mut scanner = Scanner::new(self.metadata_onward()?)?;
        let mut has_next = scanner.open()?;
        while has_next {
            let (name, value) = (scanner.key()?, scanner.value_text()?);
            if name == field {
                return serde_json::from_str::<Text<'_>>(value).ok().map(|text| text.0);
            }
            has_next = scanner.has_next(b'}')?;
        }
        Some(Cow::Borrowed(""))
    }

    /// Returns the JSON from the value of `metadata` on.
    fn metadata_onward(&self) -> Option<&[u8]> {
        match self.tail() {
            [] => self.json().get(stored::metadata_opening(self.json())? - 1..),
            tail => tail.strip_prefix(stored::METADATA_KEY),
        }
    }

    /// Returns the memory that the object takes, in bytes: its strings and their overhead. Encodings are counted by
    /// the encodings' own budget.
    pub fn size_bytes(&self) -> usize {
        /// The structs, their reference counts, and the allocator's rounding.
        const OVERHEAD_BYTES: usize = 200;
        OVERHEAD_BYTES + self.key.len() + self.line.len() + self.attributes.size_bytes()
    }

    /// Returns the object in an encoding. `make` is called once per entry and its result shared, within the budget.
    /// `None` if `make` fails.
    pub fn encoded(
        &self,
        encoding: Encoding,
        budget: &Arc<EncodingBudget>,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Bytes> {
        self.encodings.get_or_make(encoding, budget, make)
    }

    /// Returns the object in another version of its kind. `convert` is called once, as in [`encoded`](Self::encoded).
    pub fn in_version(
        &self,
        version: GroupVersion,
        budget: &Arc<EncodingBudget>,
        convert: impl FnOnce() -> Option<StoredObject>,
    ) -> Option<StoredObject> {
        self.encodings.get_or_convert(version, budget, convert)
    }
}
