//! The Endpoints of a Service, which are removed with it: a later Service of its name must not begin with them.
//!
//! Kubernetes concept: `REST.afterDelete` of `pkg/registry/core/service/storage`.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::codec::stored;
use registry_core::registry::{InstalledApi, StoreHooks};
use registry_core::resource::Resource;
use registry_core::storage::StoredObject;

use super::Services;
use crate::api::core::endpoints::Endpoints;
use crate::support::system_writer::SystemWriter;

/// Removes the Endpoints of Services that were removed.
struct EndpointsRemoval(Arc<SystemWriter>);

/// Attaches the removal to the installed services, if both kinds are served.
pub(crate) fn attach_removal(installed: &InstalledApi) {
    let endpoints = SystemWriter::for_resource::<Endpoints>(installed);
    if let (Some(services), Some(endpoints)) = (installed.store(Services::TYPE), endpoints) {
        let hooks: Arc<dyn StoreHooks> = Arc::new(EndpointsRemoval(Arc::new(endpoints)));
        services.attach_hooks(&hooks);
    }
}

#[async_trait]
impl StoreHooks for EndpointsRemoval {
    async fn after_delete(&self, object: &StoredObject) {
        let Ok(service) = stored::decode(object.json()) else { return };
        let endpoints = self.0.clone();
        let removal = async move {
            let (namespace, name) = (service.namespace(), service.name());
            if let Err(failure) = endpoints.remove(namespace, name).await {
                tracing::error!(
                    namespace,
                    name,
                    "cannot remove the Endpoints of a deleted Service: {failure}"
                );
            }
        };
        // In a task, which goes on if the request is abandoned. If it panics, the Service is gone nevertheless.
        let _ = tokio::spawn(removal).await;
    }
}
