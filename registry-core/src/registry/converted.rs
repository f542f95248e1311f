//! A version of a kind that is not the stored one: the hub's storage, with every object converted at the adapter.
//!
//! Everything that is stored is the hub's: keys, values, the cache, uid and resource version. What comes in is
//! converted before the hub's store sees it, what goes out after. What is read of the hub's cache is converted once
//! for all who ask, and kept beside the hub's bytes as other encodings are.
//!
//! Kubernetes concept: the internal version between the wire's and the stored one, in `k8s.io/apiserver`'s codecs.

use std::sync::Arc;

use bytes::Bytes;

use crate::api::{GroupResource, GroupVersionKind, Object, Scope, StatusError};
use crate::codec::stored;
use crate::resource::conversion::{Conversion, ConversionError};
use crate::resource::{ResourceType, TableColumn};
use crate::rest::{Answer, Capabilities, Storage};
use crate::schema::Schema;
use crate::storage::{EncodingBudget, Entry, StoredObject};

mod read;
mod write;

/// A capability of the hub's storage, as the spoke has it.
struct Converted<T: ?Sized> {
    hub: Arc<T>,
    adapter: VersionAdapter,
    /// What converted objects that are kept may take.
    kept: Arc<EncodingBudget>,
}

/// Where objects are converted.
#[derive(Clone)]
struct VersionAdapter {
    spoke: Arc<ResourceType>,
    conversion: Arc<Conversion>,
    /// Whether this is the `status` subresource, which has rules of its own.
    is_status: bool,
}

/// The capabilities of a hub's path, as they are at the same path of a spoke. A path that takes another kind than
/// its resource (a scale, a binding) is the same in all versions.
pub(super) fn capabilities(
    spoke: &Arc<ResourceType>,
    conversion: &Arc<Conversion>,
    subresource: Option<&str>,
    hub: Capabilities,
    kept: &Arc<EncodingBudget>,
) -> Capabilities {
    if hub.storage.kind() != conversion.hub.kind {
        return hub;
    }
    let is_status = subresource == Some("status");
    let adapter = VersionAdapter { spoke: spoke.clone(), conversion: conversion.clone(), is_status };
    macro_rules! converted {
        ($($capability:ident),*) => {
            Capabilities {
                storage: Arc::new(Converted { hub: hub.storage, adapter: adapter.clone(), kept: kept.clone() }),
                // A connection carries no objects.
                connecter: hub.connecter,
                $( $capability: match hub.$capability {
                    Some(hub) => Some(Arc::new(Converted { hub, adapter: adapter.clone(), kept: kept.clone() })),
                    None => None,
                }, )*
            }
        };
    }
    converted!(getter, lister, watcher, creater, named_creater, updater, patcher, deleter, collection_deleter)
}

impl<T: Storage + ?Sized> Storage for Converted<T> {
    fn group_resource(&self) -> GroupResource {
        self.adapter.spoke.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.adapter.spoke.kind
    }

    fn scope(&self) -> Scope {
        self.hub.scope()
    }

    fn schema(&self) -> Schema {
        self.adapter.spoke.schema()
    }

    fn apply_defaults(&self, object: &mut Object) {
        self.adapter.spoke.strategy.apply_defaults(object);
    }

    fn columns(&self) -> Arc<[TableColumn]> {
        self.adapter.spoke.columns.clone()
    }
}

// === impl VersionAdapter ===

impl VersionAdapter {
    /// The hub's object of what a client sent.
    fn to_hub(&self, object: Object) -> Result<Object, StatusError> {
        self.conversion.stored(object).map_err(|error| {
            let from = self.spoke.group_version();
            let to = self.conversion.hub.group_version();
            StatusError::bad_request(format!("cannot convert {from} to {to}: {error}"))
        })
    }

    /// The spoke's object of one that is stored, or is about to be.
    fn to_spoke(&self, object: Object) -> Result<Object, StatusError> {
        self.spoke.of_stored(object).map_err(|error| self.conversion_failed(&error))
    }

    fn entry(&self, entry: &StoredObject) -> Result<StoredObject, StatusError> {
        self.try_entry(entry).map_err(|error| self.conversion_failed(&error))
    }

    /// A stored object as the spoke gives it. Its key, its revision and what selectors see of it are the hub's.
    fn try_entry(&self, entry: &StoredObject) -> Result<StoredObject, ConversionError> {
        let unreadable = |error: crate::codec::DecodeError| ConversionError(error.to_string());
        let object = self.spoke.of_stored(stored::decode(&entry.json).map_err(unreadable)?)?;
        let encoded: Bytes = stored::encode(&object);
        let (json, item_offset) =
            stored::with_resource_version(&encoded, entry.revision).map_err(unreadable)?;
        let attributes = entry.attributes.clone();
        Ok(Arc::new(Entry::new(Arc::clone(&entry.key), entry.revision, json, item_offset, attributes)))
    }

    fn answer(&self, answer: Answer) -> Result<Answer, StatusError> {
        Ok(match answer {
            Answer::Stored(entry) => Answer::Stored(self.entry(&entry)?),
            Answer::Object(object) => Answer::Object(self.to_spoke(object)?),
            success @ Answer::Success(_) => success,
        })
    }

    fn conversion_failed(&self, error: &ConversionError) -> StatusError {
        let from = self.conversion.hub.group_version();
        let to = self.spoke.group_version();
        StatusError::internal(format!("cannot convert {from} to {to}: {error}"))
    }
}
