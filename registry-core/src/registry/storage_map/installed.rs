//! The installation of kinds that are defined while the server runs, without a static map.

use std::sync::Arc;

use crate::capabilities;
use crate::registry::scale::ScaleStore;
use crate::registry::store::Store;
use crate::resource::{ResourceType, Versions};
use crate::storage::StorageError;

use super::{InstalledPath, OpenStorage, install_main, install_status, open_versions};

/// A version of a kind that is to be served.
#[derive(Clone, Debug)]
pub struct ServedKind {
    /// The resource in this version: the hub, or a spoke of it.
    pub resource: Arc<ResourceType>,
    /// Whether the version has a `status` subresource.
    pub has_status: bool,
    /// Whether the version has a `scale` subresource, at the resource's paths.
    pub has_scale: bool,
}

/// Opens the storage of a kind, and installs the paths of its served versions over it. Returns the store, and one list of
/// paths for each version: the resource itself first, then `status` and `scale`.
///
/// The stored version need not be served. The store is not added to [`Services::stores`](crate::registry::Services), whose
/// stores remain for the life of the server.
///
/// # Errors
/// Fails if the storage cannot be opened.
pub fn install_kinds(
    versions: &Arc<Versions>,
    served: &[ServedKind],
    storage: &dyn OpenStorage,
) -> Result<(Arc<Store>, Vec<Vec<InstalledPath>>), StorageError> {
    let store = open_versions(versions, storage)?;
    let services = storage.services();
    let install = |kind: &ServedKind| {
        let path = |subresource, capabilities| {
            let over = (store.clone(), versions.clone());
            InstalledPath::over(&kind.resource, subresource, capabilities, over, storage)
        };
        let mut paths = vec![path(None, install_main(&store, &services))];
        if kind.has_status {
            paths.push(path(Some("status"), install_status(&store, &services)));
        }
        if let Some(scale) = kind.resource.scale.filter(|_| kind.has_scale) {
            let scale = ScaleStore::custom(store.clone(), &kind.resource, scale, &storage.encoding_budget());
            paths.push(path(Some("scale"), capabilities!(scale; getter, updater, patcher)));
        }
        paths
    };
    let paths = served.iter().map(install).collect();
    Ok((store, paths))
}
