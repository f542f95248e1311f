//! The metadata of an object, as controllers of all kinds read it.

use registry_core::storage::StoredObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The finalizer of an object that is deleted after its dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents lose it as their owner before it is deleted.
pub(super) const ORPHAN: &str = "orphan";

/// The part of an object's metadata that controllers need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    /// The name.
    pub(super) name: String,
    /// The namespace; empty for cluster-scoped objects.
    pub(super) namespace: String,
    /// The unique id.
    pub(super) uid: String,
    /// The revision.
    pub(super) resource_version: String,
    /// The time of the deletion, if the object is being deleted.
    pub(super) deletion_timestamp: Option<String>,
    /// The finalizers, which must be removed before the object is.
    pub(super) finalizers: Vec<String>,
    /// The owners.
    pub(super) owner_references: Vec<OwnerReference>,
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OwnerReference {
    /// The group and version of the owner.
    pub(super) api_version: String,
    /// The kind of the owner.
    pub(super) kind: String,
    /// The name of the owner.
    pub(super) name: String,
    /// The unique id of the owner.
    pub(super) uid: String,
    /// Whether the owner is the managing controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) controller: Option<bool>,
    /// Whether the owner, if it is deleted in the foreground, is kept until the object is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) block_owner_deletion: Option<bool>,
}

#[derive(Deserialize)]
struct WithMetadata {
    #[serde(default)]
    metadata: Metadata,
}

/// Sets a field of an object in JSON.
pub(super) fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

// === impl Metadata ===

impl Metadata {
    /// Reads the metadata of a stored object; `None` if it cannot be read.
    pub(super) fn read(object: &StoredObject) -> Option<Self> {
        let whole =
            || serde_json::from_slice::<WithMetadata>(object.json()).ok().map(|object| object.metadata);
        object.decode_metadata().or_else(whole)
    }

    /// Reads the metadata of an object in JSON; `None` if it cannot be read.
    pub(super) fn from_value(object: &Value) -> Option<Self> {
        Self::deserialize(object.get("metadata")?).ok()
    }

    /// Whether the object is being deleted.
    pub(super) fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether the object has this finalizer.
    pub(super) fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|own| own == finalizer)
    }

    /// Whether the object is being deleted, and kept by this finalizer.
    pub(super) fn waits_for(&self, finalizer: &str) -> bool {
        self.is_being_deleted() && self.has_finalizer(finalizer)
    }
}

// === impl OwnerReference ===

impl OwnerReference {
    /// Whether the owner is kept until the object is gone.
    pub(super) fn blocks(&self) -> bool {
        self.block_owner_deletion == Some(true)
    }
}
