//! The versions one stored kind is served in, as one: what the storage, the managers of fields and conversions
//! between two spokes need to know.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::Object;
use crate::codec::{Limits, protobuf, stored};
use crate::schema::Schema;
use crate::storage::{Attributes, AttributesOf};

use super::ResourceType;
use super::conversion::ConversionError;

/// A stored kind and all versions it is served in.
#[derive(Clone, Debug)]
pub struct Versions {
    hub: Arc<ResourceType>,
    spokes: Box<[Arc<ResourceType>]>,
}

// === impl Versions ===

impl Versions {
    /// A kind that is served as it is stored, and in no other version.
    pub fn only(hub: Arc<ResourceType>) -> Self {
        Self::new(hub, [])
    }

    /// A hub and its spokes.
    pub fn new(hub: Arc<ResourceType>, spokes: impl IntoIterator<Item = Arc<ResourceType>>) -> Self {
        Self { hub, spokes: spokes.into_iter().collect() }
    }

    /// The resource whose objects are stored.
    pub fn hub(&self) -> &Arc<ResourceType> {
        &self.hub
    }

    /// The version with this `apiVersion`; `None` when the kind is not served in it.
    pub fn find(&self, api_version: &str) -> Option<&Arc<ResourceType>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mut all = std::iter::once(&self.hub).chain(&self.spokes);
        all.find(|one| one.kind.group == group && one.kind.version == version)
    }

    /// The fields of an object of one version, as they are in another.
    ///
    /// # Errors
    /// The object cannot be said in the other version, or in the stored one between them.
    pub fn convert(
        &self,
        fields: &Map<String, Value>,
        from: &ResourceType,
        to: &ResourceType,
    ) -> Result<Map<String, Value>, ConversionError> {
        let object = Object(fields.clone());
        if from.is(to) {
            return Ok(object.0);
        }
        Ok(to.of_stored(from.to_stored(object)?)?.0)
    }

    /// The canonical encoding of a value that is kept in another version than the hub's; `None` when it is the
    /// hub's, or of no version that is known here.
    fn other_version(&self, value: &[u8]) -> Result<Option<Bytes>, String> {
        if self.spokes.is_empty() {
            return Ok(None);
        }
        let Some(api_version) = api_version_of(value) else { return Ok(None) };
        match self.find(&api_version) {
            Some(version) if !version.is(&self.hub) => {
                let object = stored::decode(value).map_err(|error| error.to_string())?;
                let object = version.to_stored(object).map_err(|error| error.to_string())?;
                Ok(Some(stored::encode(&object)))
            }
            _ => Ok(None),
        }
    }
}

/// What a value says its version is. Of a canonical one, only the beginning is looked at.
fn api_version_of(value: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed<'a> {
        #[serde(borrow)]
        api_version: Option<Cow<'a, str>>,
    }
    if let Some(rest) = value.strip_prefix(b"{\"apiVersion\":\"") {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if rest.get(end) == Some(&b'"') {
            return std::str::from_utf8(rest.get(..end)?).ok().map(Cow::Borrowed);
        }
    }
    serde_json::from_slice::<Typed<'_>>(value).ok()?.api_version
}

/// The bridge from stored bytes to the hub's AttrFunc, for whoever opens a storage.
impl AttributesOf for Versions {
    fn attributes_of(&self, value: &[u8]) -> Result<Attributes, String> {
        self.hub.attributes_of(value)
    }

    fn canonical(&self, value: &[u8]) -> Result<Option<Bytes>, String> {
        if !value.starts_with(protobuf::MAGIC) {
            return self.other_version(value);
        }
        let resolve = |api_version: &str, kind: &str| {
            let version = self.find(api_version).unwrap_or(&self.hub);
            version.schema().table().schema_of(api_version, kind).filter(Schema::has_protobuf)
        };
        let limits = Limits { depth: protobuf::STORED_DEPTH, ..Limits::default() };
        let object = protobuf::decode(value, &limits, resolve).map_err(|error| error.to_string())?;
        let object = Object::from_value(object).unwrap_or_default();
        // Whatever version that nobody here serves: that is for the reader to see, as with JSON.
        let object = match self.find(object.api_version()) {
            Some(version) => version.to_stored(object).map_err(|error| error.to_string())?,
            None => object,
        };
        Ok(Some(stored::encode(&object)))
    }
}
