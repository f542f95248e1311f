//! The served versions of a stored kind, as needed by the storage, field management and conversions between spokes.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use crate::api::{Object, compare_versions, split_api_version};
use crate::budget::Budget;
use crate::codec::{DecodeError, Limits, cbor, protobuf, stored};
use crate::release::Release;
use crate::schema::{Schema, StructuralSchema};
use crate::storage::{Attributes, AttributesOf, CanonicalForm, InvalidValue, StoredVersionError};

use super::conversion::{ConversionError, only};
use super::{Renew, ResourceType, RetiredVersion};

/// Memory that defaults may add to a stored object when it is read, beside [`NEW_DEFAULTS_FACTOR`] times its size. A
/// list reads any number of objects, so that the sum for all of them has to be in proportion to what is stored.
const NEW_DEFAULTS_BYTES: usize = 256 << 10;
/// Memory that defaults may add to a stored object when it is read, for each of its bytes.
const NEW_DEFAULTS_FACTOR: usize = 16;

/// A stored kind and all versions in which it is served.
#[derive(Clone, Debug)]
pub struct Versions {
    hub: Arc<ResourceType>,
    spokes: Box<[Arc<ResourceType>]>,
    /// The version in which objects are stored; `None` if it is the hub's.
    stored: Option<Arc<ResourceType>>,
    encoding: StorageEncoding,
}

/// A version in which a value may be stored.
#[derive(Clone, Copy)]
struct Readable<'a> {
    /// The version, or the one that replaces it.
    version: &'a Arc<ResourceType>,
    /// The version, if it is not served any more.
    retired: Option<&'static RetiredVersion>,
}

/// The encoding of stored objects. Objects in any of them are read, whichever is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageEncoding {
    /// JSON, the canonical form.
    #[default]
    Json,
    /// Kubernetes' protobuf. The kind must [have it](Schema::has_protobuf).
    Protobuf,
    /// CBOR, which only custom resources are stored as.
    Cbor,
}

// === impl StorageEncoding ===

impl StorageEncoding {
    /// Encodes an object of this version.
    fn encode(self, object: Object, version: &ResourceType) -> Result<Bytes, protobuf::EncodeError> {
        match self {
            Self::Json => Ok(stored::encode(&object, version.schema().field_order())),
            Self::Cbor => Ok(cbor::encode(&object.into_value(), None)),
            Self::Protobuf => {
                let (api_version, kind) = (object.api_version().to_owned(), version.kind.kind);
                protobuf::encode(&object.into_value(), &version.schema(), &api_version, kind)
            }
        }
    }
}

// === impl Readable ===

impl Readable<'_> {
    /// Whether this is that version itself.
    fn is(&self, version: &ResourceType) -> bool {
        self.retired.is_none() && self.version.is(version)
    }

    /// Returns the schema of a message. A retired version has one of its own only if its messages differ.
    fn schema_of(&self, api_version: &str, kind: &str) -> Option<Schema> {
        let schema = self.version.schema();
        let own = schema.table().schema_of(api_version, kind);
        let is_replaced = self.retired.is_some() && kind == self.version.kind.kind;
        own.or_else(|| is_replaced.then_some(schema)).filter(Schema::has_protobuf)
    }
}

// === impl Versions ===

impl Versions {
    /// Creates the set of a kind that is served only in the stored version.
    pub fn only(hub: Arc<ResourceType>) -> Self {
        Self::new(hub, [])
    }

    /// Creates the set of a hub and its spokes.
    pub fn new(hub: Arc<ResourceType>, spokes: impl IntoIterator<Item = Arc<ResourceType>>) -> Self {
        Self { hub, spokes: spokes.into_iter().collect(), stored: None, encoding: StorageEncoding::Json }
    }

    /// Stores objects in the newest version that servers of a release know: the hub's if they know it. Alpha versions are not
    /// kept for other releases: if the servers know none but these, it is the oldest of the others.
    ///
    /// Kubernetes concept: `emulatedStorageVersion` in `k8s.io/apiserver/pkg/server/storage`, and the storage versions of
    /// `pkg/kubeapiserver`, which precede it.
    #[must_use]
    pub fn readable_by(self, release: Release) -> Self {
        if self.hub.lifecycle.is_introduced(release) {
            return self;
        }
        let spokes = self.spokes.iter().filter(|spoke| !spoke.kind.version.contains("alpha"));
        let by_version =
            |a: &&Arc<ResourceType>, b: &&Arc<ResourceType>| compare_versions(a.kind.version, b.kind.version);
        let known = spokes.clone().filter(|spoke| spoke.lifecycle.is_introduced(release)).max_by(by_version);
        let stored = known.or_else(|| spokes.min_by(by_version)).cloned();
        Self { stored, ..self }
    }

    /// Stores objects in this encoding.
    #[must_use]
    pub fn encoded_as(self, encoding: StorageEncoding) -> Self {
        Self { encoding, ..self }
    }

    /// Returns the version in which objects are stored.
    pub fn stored(&self) -> &Arc<ResourceType> {
        self.stored.as_ref().unwrap_or(&self.hub)
    }

    /// Returns the resource whose objects are stored.
    pub fn hub(&self) -> &Arc<ResourceType> {
        &self.hub
    }

    /// Returns the version with this `apiVersion`; `None` if the kind is not served in it.
    pub fn find(&self, api_version: &str) -> Option<&Arc<ResourceType>> {
        let (group, version) = split_api_version(api_version);
        self.all().find(|resource| resource.kind.group == group && resource.kind.version == version)
    }

    /// Returns the versions of a group in which stored objects can be read, as `apiVersion`, from the highest priority.
    ///
    /// Kubernetes concept: `Scheme.VersionsForGroupKind`.
    pub fn readable_in(&self, group: &str) -> Vec<String> {
        let retired =
            self.all().flat_map(|version| version.retired).map(|retired| retired.api_version.to_owned());
        let present = self.all().map(|version| version.group_version().api_version());
        let is_in_group = |api_version: &String| split_api_version(api_version).0 == group;
        let mut versions: Vec<String> = present.chain(retired).filter(is_in_group).collect();
        versions.sort_by(|a, b| compare_versions(split_api_version(b).1, split_api_version(a).1));
        versions.dedup();
        versions
    }

    fn all(&self) -> impl Iterator<Item = &Arc<ResourceType>> {
        std::iter::once(&self.hub).chain(&self.spokes)
    }

    /// Whether objects of any version are converted outside of this process.
    pub fn are_converted_remotely(&self) -> bool {
        self.spokes.iter().any(|spoke| spoke.is_converted_remotely())
    }

    /// Returns the version with this `apiVersion`, or the one into which objects of this retired version are changed. A
    /// value that names no version is the hub's: no server of Kubernetes writes one.
    ///
    /// # Errors
    /// Fails if no version is known by this name. The error names the kind of the value, or the hub's if it has none.
    fn readable(
        &self,
        api_version: &str,
        kind: impl FnOnce() -> String,
    ) -> Result<Readable<'_>, InvalidValue> {
        if api_version.is_empty() {
            return Ok(Readable { version: &self.hub, retired: None });
        }
        if let Some(version) = self.find(api_version) {
            return Ok(Readable { version, retired: None });
        }
        for version in self.all() {
            if let Some(retired) = version.retired.iter().find(|retired| retired.api_version == api_version) {
                return Ok(Readable { version, retired: Some(retired) });
            }
        }
        let kind = Some(kind()).filter(|kind| !kind.is_empty());
        let kind = kind.unwrap_or_else(|| self.hub.kind.kind.to_owned());
        Err(InvalidValue::new(DecodeError::UnknownKind(kind, api_version.to_owned())))
    }

    /// Returns the canonical encoding of a JSON value that is not in the hub's version, not in the form of the schema, or
    /// written by another server.
    fn current_form(&self, value: &[u8]) -> Result<CanonicalForm, InvalidValue> {
        let hub = &self.hub;
        let kind = || stored::decode(value).map(|object| object.kind().to_owned()).unwrap_or_default();
        let readable = self.readable(&api_version_of(value)?, kind)?;
        let is_current = readable.is(hub);
        if is_current && hub.schema().structural().is_none() && !stored::is_of_another_server(value) {
            return Ok(CanonicalForm::Same);
        }
        let decode = || stored::decode(value).map_err(InvalidValue::new);
        if !is_current {
            return self.converted(readable, decode, value.len());
        }
        let Some(current) = completed(hub, decode()?, value.len())? else { return Ok(CanonicalForm::Same) };
        let current = stored::encode(&current, hub.schema().field_order());
        Ok(if *current == *value { CanonicalForm::Same } else { CanonicalForm::Other(current) })
    }

    /// Returns the canonical encoding of a value of another version, given how to decode it and its length.
    fn converted(
        &self,
        Readable { version, retired }: Readable<'_>,
        decode: impl Fn() -> Result<Object, InvalidValue>,
        stored_bytes: usize,
    ) -> Result<CanonicalForm, InvalidValue> {
        let object = match retired {
            Some(retired) => renewed(version, retired, decode()?)?,
            None => completed(version, decode()?, stored_bytes)?.map_or_else(decode, Ok)?,
        };
        self.in_hub(version, object)
    }

    /// Converts a stored object of this version to the hub.
    fn in_hub(&self, version: &Arc<ResourceType>, object: Object) -> Result<CanonicalForm, InvalidValue> {
        let hub = self.hub.clone();
        let encoded = move |converted: Result<Object, ConversionError>| match converted {
            Ok(object) => Ok(stored::encode(&object, hub.schema().field_order())),
            Err(error) => Err(InvalidValue::new(error)),
        };
        if !version.is_converted_remotely() {
            return encoded(version.to_stored_here(object)).map(CanonicalForm::Other);
        }
        let version = version.clone();
        let converting = async move { encoded(version.to_stored(vec![object]).await.and_then(only)) };
        Ok(CanonicalForm::Awaited(converting.boxed()))
    }
}

/// Returns a stored object of a retired version in the present form of the version that replaces it.
fn renewed(
    version: &ResourceType,
    retired: &RetiredVersion,
    mut object: Object,
) -> Result<Object, InvalidValue> {
    let budget = Budget::default();
    match retired.renew {
        Some(Renew::Plain(renew)) => renew(&mut object),
        Some(Renew::Budgeted(renew)) => renew(&mut object, &budget).map_err(InvalidValue::new)?,
        None => {}
    }
    let mut current = version.in_current_form(object, &budget).map_err(InvalidValue::new)?;
    version.strategy.complete_stored(&mut current);
    Ok(current)
}

/// Returns a stored object in the present form of its schema: without malformed metadata and unknown fields, and with all
/// defaults. `None` if the defaults are too large for an object of this size, or if a built-in kind does not have such an
/// object: it can still be read as it is, and lists of it too.
fn completed(
    version: &ResourceType,
    mut object: Object,
    stored_bytes: usize,
) -> Result<Option<Object>, InvalidValue> {
    let schema = version.schema();
    if let Some(structural) = schema.structural() {
        object = with_sound_metadata(structural, object)?;
    }
    let budget = defaults_budget(stored_bytes);
    match version.in_current_form(object, &budget) {
        Ok(mut current) => {
            version.strategy.complete_stored(&mut current);
            Ok(Some(current))
        }
        // A definition may have got defaults for the elements of long lists since.
        Err(error) if budget.exhausted().is_some() || schema.structural().is_none() => {
            let kind = version.kind.kind;
            tracing::warn!(kind, "a stored object is read without its new defaults: {error}");
            Ok(None)
        }
        Err(error) => Err(InvalidValue::new(error)),
    }
}

/// Returns a stored custom resource with metadata as they are checked today: earlier servers stored them without.
fn with_sound_metadata(structural: &StructuralSchema, object: Object) -> Result<Object, InvalidValue> {
    let mut decoded = object.into_value();
    structural
        .coerce_metadata(&mut decoded, true, &mut Vec::new())
        .map_err(|error| InvalidValue::new(error.text))?;
    let mut object =
        Object::from_value(decoded).map_err(|_| InvalidValue::new("the stored value is not an object"))?;
    if object.metadata().is_some() && object.generation() == 0 {
        object.set(&["metadata", "generation"], 1.into());
    }
    Ok(object)
}

/// Returns an object as it will be read, with the defaults that are not stored; `None` if it has all of them, or if they are
/// too large for an object of this size.
pub(crate) fn with_unstored_defaults(
    resource: &ResourceType,
    object: &Object,
    stored_bytes: usize,
) -> Option<Object> {
    let schema = resource.schema();
    let structural = schema.structural()?;
    if !structural.lacks_defaults(&object.0) {
        return None;
    }
    let mut value = Value::Object(object.0.clone());
    match structural.apply_defaults(&mut value, &defaults_budget(stored_bytes)) {
        Ok(()) => Object::from_value(value).ok(),
        Err(why) => {
            tracing::warn!(kind = resource.kind.kind, "an object is shown without its defaults: {why}");
            None
        }
    }
}

/// Returns the budget for the defaults of a stored object.
fn defaults_budget(stored_bytes: usize) -> Budget {
    Budget::with_bytes(NEW_DEFAULTS_BYTES + NEW_DEFAULTS_FACTOR.saturating_mul(stored_bytes))
}

/// Returns the value's `apiVersion`. Of a canonical value only the beginning is read.
fn api_version_of(value: &[u8]) -> Result<Cow<'_, str>, InvalidValue> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed<'a> {
        #[serde(borrow)]
        api_version: Cow<'a, str>,
    }
    if let Some(api_version) = stored::api_version(value) {
        return Ok(api_version.into());
    }
    if let Ok(typed) = serde_json::from_slice::<Typed<'_>>(value) {
        return Ok(typed.api_version);
    }
    // It nests deeper than that decoder allows, has no version, or is not an object.
    let object = stored::decode(value).map_err(InvalidValue::new)?;
    Ok(object.api_version().to_owned().into())
}

/// Extracts the hub's attributes from stored bytes, for opening a storage.
impl AttributesOf for Versions {
    fn attributes_of(&self, value: &[u8]) -> Result<Attributes, InvalidValue> {
        self.hub.attributes_of(value)
    }

    fn at_rest(&self, canonical: &[u8]) -> Result<Option<Bytes>, StoredVersionError> {
        if self.stored.is_none() && self.encoding == StorageEncoding::Json {
            return Ok(None);
        }
        let mut object = stored::decode(canonical).map_err(|error| StoredVersionError(error.into()))?;
        if let Some(stored) = &self.stored {
            object = stored.convert_stored_here(object).map_err(|error| StoredVersionError(error.into()))?;
        }
        let encoded = self.encoding.encode(object, self.stored());
        encoded.map(Some).map_err(|error| StoredVersionError(error.into()))
    }

    fn canonical(&self, value: &[u8]) -> Result<CanonicalForm, InvalidValue> {
        let limits = Limits { depth: protobuf::STORED_DEPTH, ..Limits::default() };
        if value.starts_with(protobuf::MAGIC) {
            return self.decoded_protobuf(value, &limits);
        }
        if !value.starts_with(cbor::MAGIC) {
            return self.current_form(value);
        }
        let object = cbor::decode(value, &limits).map_err(InvalidValue::new)?;
        let object =
            Object::from_value(object).map_err(|_| InvalidValue::new("the stored CBOR is not an object"))?;
        let json = stored::encode(&object, self.hub.schema().field_order());
        Ok(match self.current_form(&json)? {
            CanonicalForm::Same => CanonicalForm::Other(json),
            current => current,
        })
    }
}

impl Versions {
    /// Returns the canonical encoding of an object that is stored as protobuf.
    fn decoded_protobuf(&self, value: &[u8], limits: &Limits<'_>) -> Result<CanonicalForm, InvalidValue> {
        let envelope = protobuf::Envelope::parse(value).map_err(InvalidValue::new)?;
        let readable = self.readable(envelope.api_version, || envelope.kind.to_owned())?;
        let resolve = |api_version: &str, kind: &str| readable.schema_of(api_version, kind);
        let decode = || {
            let object = protobuf::decode(value, limits, resolve).map_err(InvalidValue::new)?;
            Object::from_value(object).map_err(|_| InvalidValue::new("the stored message is not an object"))
        };
        self.converted(readable, decode, value.len())
    }
}
