//! The state of the API: what is served, and what every request needs.

use std::sync::Arc;

use registry_core::api::{Reason, StatusError};
use registry_core::registry::{InstalledApi, LateResources};
use request_info::ResourceRequest;
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionChain;
use crate::authorization::Authorizer;
use crate::proxy::Proxy;

use super::api_config::ApiConfig;
use super::served_api::ServedApi;
use super::snapshot::Snapshot;

/// The parts that requests need beside the resources that are served.
#[derive(Default)]
pub struct ApiParts {
    /// The admission plug-ins.
    pub admission: AdmissionChain,
    /// Decides about actions that only the handling of a request reveals; the filters decide about its method and path.
    /// Without an authorizer such actions are refused.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// The proxy for connections; without a proxy they are refused.
    pub proxy: Option<Proxy>,
    /// Knows resources that are not served here yet.
    pub late: Option<Arc<dyn LateResources>>,
}

/// The API of everything installed: all paths except health and version.
pub struct Api {
    pub(super) config: ApiConfig,
    pub(super) admission: AdmissionChain,
    authorizer: Option<Arc<dyn Authorizer>>,
    served: Arc<ServedApi>,
    proxy: Option<Proxy>,
    late: Option<Arc<dyn LateResources>>,
}

// === impl Api ===

impl Api {
    /// Returns the API over these storages. Watches end when `shutdown` is cancelled. Must be called within a
    /// Tokio runtime.
    pub fn new(installed: &InstalledApi, parts: ApiParts, shutdown: CancellationToken) -> Arc<Self> {
        Self::with_config(installed, parts, shutdown, ApiConfig::default())
    }

    /// Returns the API over these storages, with this configuration.
    pub fn with_config(
        installed: &InstalledApi,
        parts: ApiParts,
        shutdown: CancellationToken,
        config: ApiConfig,
    ) -> Arc<Self> {
        let served = ServedApi::new(installed, &config, shutdown);
        Self::over(served, parts, config)
    }

    /// Returns the API over what is served, with the configuration from which that was made.
    pub fn over(served: Arc<ServedApi>, parts: ApiParts, config: ApiConfig) -> Arc<Self> {
        let ApiParts { admission, authorizer, proxy, late } = parts;
        Arc::new(Self { config, admission, authorizer, served, proxy, late })
    }

    /// Returns the admission plug-ins.
    pub(crate) const fn admission(&self) -> &AdmissionChain {
        &self.admission
    }

    /// Returns the present snapshot of what is served. A request uses one snapshot.
    pub(super) fn served(&self) -> Arc<Snapshot> {
        self.served.snapshot()
    }

    /// Waits until the definition of a resource that is not served has been applied, if there is one: another server may
    /// have received it. Returns whether to look for the route again.
    pub(super) async fn wait_for(&self, request: &ResourceRequest) -> bool {
        match &self.late {
            Some(late) => late.wait_for(&request.group, &request.resource).await,
            None => false,
        }
    }

    /// Returns what decides about the rights that a request needs beside that of its method.
    ///
    /// # Errors
    /// 500 if there is none.
    pub(super) fn authorizer(&self) -> Result<&dyn Authorizer, StatusError> {
        let missing = || StatusError::internal("no authorizer provided");
        self.authorizer.as_deref().ok_or_else(missing)
    }

    /// Returns the proxy for connections.
    ///
    /// # Errors
    /// 503 if there is none.
    pub(super) fn proxy(&self) -> Result<&Proxy, StatusError> {
        let missing = || StatusError::new(Reason::ServiceUnavailable, "this server passes no connections on");
        self.proxy.as_ref().ok_or_else(missing)
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}
