//! Proxies requests to kubelets, pods and services.
//!
//! | module | contents |
//! |---|---|
//! | `dial` | the connection to a destination |
//! | `forward` | a request and its response |
//! | `headers` | the headers that are passed on |
//! | `tunnel` | upgraded connections, as bytes |
//!
//! Redirects are never followed, and connections are made only to the resolved addresses.
//!
//! Kubernetes concept: `UpgradeAwareHandler` in `k8s.io/apimachinery/pkg/util/proxy`.

use std::net::SocketAddr;
use std::sync::Arc;

use clients::egress::Route;
use registry_core::api::StatusError;
use tokio_util::sync::CancellationToken;

use crate::shares::{SharedPlace, SharedPlaces};

mod dial;
mod forward;
pub(crate) mod headers;
mod probe;
mod tls;
pub(crate) mod tunnel;

pub(crate) use forward::ProxiedRequest;
pub(crate) use probe::ControlPlane;
pub(crate) use tls::{KubeletCertificate, KubeletIdentity, PeerTls};

/// Maximum number of proxied requests at once: streams stay open for hours.
pub(crate) const MAX_CONNECTIONS: usize = 4096;
/// Time after which a client whose share is exhausted may try again.
const RETRY_SECONDS: u32 = 5;

/// Proxies requests.
pub struct Proxy {
    tls: PeerTls,
    /// The server's own address, which is never connected to.
    own: SocketAddr,
    /// Whether workloads may have addresses of this machine; only in tests.
    reaches_local: bool,
    /// The way to nodes, pods and services.
    route: Route,
    /// Divided by user.
    connections: Arc<SharedPlaces<String>>,
    shutdown: CancellationToken,
}

/// A proxied request, which counts against its user's share.
type Permit = SharedPlace<String>;

// === impl Proxy ===

impl Proxy {
    /// Returns a proxy that presents these certificates, connects to everything but `own`, the server's own
    /// address, and proxies this many requests at once. Streams end when `shutdown` is cancelled.
    pub(crate) fn new(
        tls: PeerTls,
        own: SocketAddr,
        reaches_local: bool,
        max_connections: usize,
        shutdown: CancellationToken,
    ) -> Self {
        let (route, connections) = (Route::default(), SharedPlaces::new(max_connections));
        Self { tls, own, reaches_local, route, connections, shutdown }
    }

    /// Connects by this way.
    #[must_use]
    pub(crate) fn through(self, route: Route) -> Self {
        Self { route, ..self }
    }

    fn admit(&self, user: &str) -> Result<Permit, StatusError> {
        self.connections.take(user).ok_or_else(|| {
            StatusError::too_many_requests("too many connections are passed on", RETRY_SECONDS)
        })
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxy")
    }
}
