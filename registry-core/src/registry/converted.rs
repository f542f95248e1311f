//! A version of a kind that is not the stored one: uses the hub's storage and converts every object.
//!
//! Everything that is stored belongs to the hub: keys, values, the cache, uid and resource version. Objects are
//! converted before the hub's store receives them and after it returns them. A function of this process converts an entry
//! of the hub's cache once for all readers, and the result is kept next to the hub's bytes, as other encodings are. The
//! answer of a webhook is kept for a second.
//!
//! Kubernetes concept: the internal version between the wire's and the stored version, in `k8s.io/apiserver`'s codecs.

use std::sync::Arc;

use crate::api::{GroupResource, GroupVersionKind, Object, Reason, Scope, StatusError};
use crate::resource::conversion::{Conversion, ConversionError, Converter, only};
use crate::resource::{ResourceType, TableColumns};
use crate::rest::{Answer, Capabilities, GracefulDeleter, Lister, Storage};
use crate::schema::Schema;
use crate::storage::EncodingBudget;

mod read;
mod remote;
mod selection;
mod shown;
mod write;

use remote::RemoteConversions;
use shown::ShownTotals;

/// A capability of the hub's storage, for a spoke.
struct Converted<T: ?Sized> {
    hub: Arc<T>,
    adapter: VersionAdapter,
}

/// Converts objects between a spoke and its hub.
#[derive(Clone)]
pub(super) struct VersionAdapter {
    spoke: Arc<ResourceType>,
    conversion: Arc<Conversion>,
    /// Whether this is the `status` subresource, which has separate rules.
    is_status: bool,
    /// The memory budget of converted objects that are kept with the hub's.
    kept: Arc<EncodingBudget>,
    /// The remote conversions that are under way, and those of the last second.
    remote: Arc<RemoteConversions>,
    /// The numbers of the watches by the spoke's fields.
    shown: Arc<ShownTotals>,
    /// The hub's storage, for selections by the spoke's fields.
    hub: HubPath,
}

/// The parts of the hub's storage that a selection by the spoke's fields uses.
#[derive(Clone, Default)]
struct HubPath {
    lister: Option<Arc<dyn Lister>>,
    deleter: Option<Arc<dyn GracefulDeleter>>,
}

/// Returns the capabilities of a hub's path for the same path of a spoke. A path that accepts another kind than its
/// resource (a scale, a binding) is the same in all versions.
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
    let mut adapter = VersionAdapter::new(spoke, conversion, kept);
    adapter.is_status = subresource == Some("status");
    adapter.hub = HubPath { lister: hub.lister.clone(), deleter: hub.deleter.clone() };
    macro_rules! converted {
        ($($capability:ident),*) => {
            Capabilities {
                storage: Arc::new(Converted { hub: hub.storage, adapter: adapter.clone() }),
                // A connection carries no objects.
                connecter: hub.connecter,
                $( $capability: match hub.$capability {
                    Some(hub) => Some(Arc::new(Converted { hub, adapter: adapter.clone() })),
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

    fn columns(&self) -> TableColumns {
        self.adapter.spoke.columns.clone()
    }
}

// === impl VersionAdapter ===

impl VersionAdapter {
    /// Creates the adapter of a spoke's main resource.
    pub(super) fn new(
        spoke: &Arc<ResourceType>,
        conversion: &Arc<Conversion>,
        kept: &Arc<EncodingBudget>,
    ) -> Self {
        Self {
            spoke: spoke.clone(),
            conversion: conversion.clone(),
            is_status: false,
            kept: kept.clone(),
            remote: Arc::default(),
            shown: Arc::default(),
            hub: HubPath::default(),
        }
    }

    /// Converts a client's object to the hub.
    async fn to_hub(&self, object: Object) -> Result<Object, StatusError> {
        let converted = self.spoke.to_stored(vec![object]).await.and_then(only);
        converted.map_err(|error| {
            if self.is_remote() {
                return remote_failed(&error);
            }
            let from = self.spoke.group_version();
            let to = self.conversion.hub.group_version();
            StatusError::bad_request(format!("cannot convert {from} to {to}: {error}"))
        })
    }

    /// Converts an object of the hub, stored or about to be, to the spoke.
    async fn to_spoke(&self, object: Object) -> Result<Object, StatusError> {
        let converted = self.spoke.convert_stored(vec![object]).await.and_then(only);
        converted.map_err(|error| self.conversion_failed(&error))
    }

    /// Converts the hub's answer to the spoke.
    pub(super) async fn answer(&self, answer: Answer) -> Result<Answer, StatusError> {
        Ok(match answer {
            Answer::Stored(entry) => Answer::Stored(self.read(&entry).await?),
            Answer::Object(object) => Answer::Object(self.to_spoke(object).await?),
            success @ Answer::Success(_) => success,
        })
    }

    /// Whether objects are converted outside of this process.
    fn is_remote(&self) -> bool {
        matches!(self.conversion.converter, Converter::Remote(_))
    }

    fn conversion_failed(&self, error: &ConversionError) -> StatusError {
        if self.is_remote() {
            return remote_failed(error);
        }
        let from = self.conversion.hub.group_version();
        let to = self.spoke.group_version();
        StatusError::internal(format!("cannot convert {from} to {to}: {error}"))
    }
}

/// Returns the error of a conversion outside of this process, whose text says what it was about.
fn remote_failed(error: &ConversionError) -> StatusError {
    StatusError::new(Reason::Unknown, error.to_string())
}
