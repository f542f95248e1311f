//! One stored object at one revision: bytes encoded once, attributes extracted once, shared by everyone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use crate::api::GroupVersion;
use crate::codec::protobuf::MAGIC;
use crate::codec::stored;

use super::Revision;

mod attributes;
mod encodings;

pub use attributes::Attributes;
use encodings::Encodings;
pub use encodings::{Encoding, EncodingBudget};

/// A stored object, cheap to clone and to hand around.
pub type StoredObject = Arc<Entry>;

/// One object at one revision.
#[derive(Debug)]
pub struct Entry {
    /// The whole key, for example `/registry/pods/default/web`.
    pub key: Arc<str>,
    /// The revision that wrote this state; what clients see as `resourceVersion`.
    pub revision: Revision,
    /// The object as JSON, `metadata.resourceVersion` included: what a `get` answers, byte for byte.
    pub json: Bytes,
    /// Where in `json` the fields after `apiVersion` and `kind` begin (the `"` of `"metadata"`): items of a
    /// typed list are written without those two, as `{` and this tail.
    pub item_offset: u32,
    /// What selectors and indexes look at.
    pub attributes: Attributes,
    /// How long `metadata` is, once somebody wanted to know; 0 before.
    metadata_len: AtomicU32,
    /// What the object was encoded as, beside JSON, and converted to.
    encodings: Encodings,
}

/// Extracts attributes from a stored value: the bridge from bytes to a resource's AttrFunc, given to a
/// backend when it is opened.
///
/// Kubernetes concept: `storage.AttrFunc`.
pub trait AttributesOf: Send + Sync + 'static {
    /// The attributes of a value (the canonical encoding, with or without `resourceVersion`).
    ///
    /// # Errors
    /// The value is no object of the resource: it was written by something else, or is damaged.
    fn attributes_of(&self, value: &[u8]) -> Result<Attributes, String>;

    /// The canonical encoding of a value that is kept in another one: as protobuf (it begins with
    /// [`MAGIC`]), or in another version of the kind. `None` when the value can be
    /// taken as it is.
    ///
    /// # Errors
    /// The value is no object of the resource; or nobody says how the resource's protobuf is read, which is what
    /// this does unless it is implemented.
    fn canonical(&self, value: &[u8]) -> Result<Option<Bytes>, String> {
        if value.starts_with(MAGIC) {
            return Err("it is Kubernetes protobuf, and the resource has none".to_owned());
        }
        Ok(None)
    }
}

// === impl Entry ===

impl Entry {
    /// An object at a revision, of which nothing but the JSON is made yet.
    pub fn new(
        key: Arc<str>,
        revision: Revision,
        json: Bytes,
        item_offset: u32,
        attributes: Attributes,
    ) -> Self {
        let metadata_len = AtomicU32::new(0);
        let encodings = Encodings::default();
        Self { key, revision, json, item_offset, attributes, metadata_len, encodings }
    }

    /// The JSON from the first field after `apiVersion` and `kind` on; empty when that is not known.
    pub fn tail(&self) -> &[u8] {
        let tail = usize::try_from(self.item_offset).ok().and_then(|offset| self.json.get(offset..));
        tail.unwrap_or_default()
    }

    /// The JSON of `metadata` alone, a part of [`json`](Self::json): found once. `None` when the JSON is not
    /// canonical.
    pub fn metadata(&self) -> Option<&[u8]> {
        let rest = self.tail().strip_prefix(stored::METADATA_KEY)?;
        let known = usize::try_from(self.metadata_len.load(Ordering::Relaxed)).unwrap_or_default();
        if known > 0 {
            return rest.get(..known);
        }
        let len = stored::object_len(rest)?;
        // A length beyond 32 bits is found again each time.
        self.metadata_len.store(u32::try_from(len).unwrap_or_default(), Ordering::Relaxed);
        rest.get(..len)
    }

    /// What holding the object costs, in bytes: its texts, and what stands around them. What it is encoded as is counted
    /// by the encodings' own budget.
    pub fn size_bytes(&self) -> usize {
        /// The structs, their counts of references, and the allocator's rounding.
        const OVERHEAD_BYTES: usize = 200;
        OVERHEAD_BYTES + self.key.len() + self.json.len() + self.attributes.size_bytes()
    }

    /// The object in an encoding: what `make` gives, which is asked once for everybody who wants it of this entry,
    /// as long as the budget lasts. `None` when `make` cannot.
    pub fn encoded(
        &self,
        encoding: Encoding,
        budget: &Arc<EncodingBudget>,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Bytes> {
        self.encodings.get_or_make(encoding, budget, make)
    }

    /// The object in another version of its kind: what `convert` gives, asked once like [`encoded`](Self::encoded).
    pub fn in_version(
        &self,
        version: GroupVersion,
        budget: &Arc<EncodingBudget>,
        convert: impl FnOnce() -> Option<StoredObject>,
    ) -> Option<StoredObject> {
        self.encodings.get_or_convert(version, budget, convert)
    }
}
