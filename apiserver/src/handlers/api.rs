//! The state of the API: its routes, and what every request needs.

use std::sync::{Arc, OnceLock};

use registry_core::api::{Reason, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::storage::EncodingBudget;
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionChain;
use crate::discovery::Discovery;
use crate::metrics::RequestMetrics;
use crate::openapi::{DescriptionsSource, OpenApi};
use crate::proxy::Proxy;

use super::ending::Ending;
use super::routing::Routes;

/// Maximum size of cached encodings unless a server's watch caches share a budget with them, in bytes.
const DEFAULT_ENCODINGS_BYTES: usize = 16 * 1024 * 1024;

/// Configuration of the API, beside the installed storages.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Returns descriptions of types for OpenAPI documents.
    pub descriptions: DescriptionsSource,
    /// Whether CBOR is supported.
    pub cbor: bool,
    /// The memory budget of cached encodings of stored objects.
    pub encodings: Arc<EncodingBudget>,
    /// The metrics of requests.
    pub metrics: RequestMetrics,
}

/// The API of everything installed: all paths except health and version.
pub struct Api {
    pub(super) config: ApiConfig,
    pub(super) routes: Routes,
    pub(super) admission: AdmissionChain,
    pub(super) discovery: Discovery,
    pub(super) openapi: OpenApi,
    pub(super) ending: Ending,
    proxy: OnceLock<Proxy>,
}

// === impl ApiConfig ===

impl Default for ApiConfig {
    fn default() -> Self {
        let encodings = Arc::new(EncodingBudget::new(DEFAULT_ENCODINGS_BYTES));
        Self { descriptions: || None, cbor: false, encodings, metrics: RequestMetrics::default() }
    }
}

// === impl Api ===

impl Api {
    /// Returns the API over these storages. Watches end when `shutdown` is cancelled. Must be called within a
    /// Tokio runtime.
    pub fn new(
        installed: Arc<InstalledApi>,
        admission: AdmissionChain,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Self::with_config(installed, admission, shutdown, ApiConfig::default())
    }

    /// Returns the API over these storages, with this configuration.
    pub fn with_config(
        installed: Arc<InstalledApi>,
        admission: AdmissionChain,
        shutdown: CancellationToken,
        config: ApiConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            routes: Routes::new(&installed, &config.metrics),
            admission,
            discovery: Discovery::new(&installed),
            openapi: OpenApi::new(installed, config.descriptions),
            ending: Ending::after(shutdown),
            proxy: OnceLock::new(),
            config,
        })
    }

    /// Sets the proxy for connections; without one they are refused. Only the first call has an effect.
    pub fn connect_by(&self, proxy: Proxy) {
        let _ = self.proxy.set(proxy);
    }

    /// Returns the proxy for connections.
    ///
    /// # Errors
    /// 503 if there is none.
    pub(super) fn proxy(&self) -> Result<&Proxy, StatusError> {
        let missing = || StatusError::new(Reason::ServiceUnavailable, "this server passes no connections on");
        self.proxy.get().ok_or_else(missing)
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}
