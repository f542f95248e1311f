//! Passes requests on: to kubelets, pods and services.
//!
//! | module | what lives there |
//! |---|---|
//! | `dial` | the connection: resolved once, checked, encrypted |
//! | `forward` | a request and its answer |
//! | `headers` | what of their headers goes through |
//! | `tunnel` | upgraded connections, as bytes |
//!
//! Redirects are never followed, and what was resolved is what is connected to.
//!
//! Kubernetes concept: `UpgradeAwareHandler` in `k8s.io/apimachinery/pkg/util/proxy`.

use std::net::SocketAddr;
use std::sync::Arc;

use registry_core::api::StatusError;
use tokio_util::sync::CancellationToken;

use crate::shares::{SharedPlace, SharedPlaces};

mod dial;
mod forward;
mod headers;
mod probe;
mod tls;
mod tunnel;

pub(crate) use forward::ProxiedRequest;
pub(crate) use probe::ControlPlane;
pub(crate) use tls::{KubeletCertificate, KubeletIdentity, PeerTls};

/// Maximum number of requests that are passed on at once: streams stay open for hours.
pub(crate) const MAX_CONNECTIONS: usize = 4096;
/// When a client may ask again whose share of them is taken.
const RETRY_SECONDS: u32 = 5;

/// Passes requests on.
pub struct Proxy {
    tls: PeerTls,
    /// Where the server itself listens: it is never connected to.
    own: SocketAddr,
    /// Whether workloads may be at addresses of this machine: only in tests they are.
    reaches_local: bool,
    /// Divided by user.
    connections: Arc<SharedPlaces<String>>,
    shutdown: CancellationToken,
}

/// A request that is passed on, as it counts for its user.
type Permit = SharedPlace<String>;

// === impl Proxy ===

impl Proxy {
    /// Shows these certificates, connects to everything but `own`, the server's own address, and passes on this many
    /// requests at once. Streams end when `shutdown` is cancelled.
    pub(crate) fn new(
        tls: PeerTls,
        own: SocketAddr,
        reaches_local: bool,
        max_connections: usize,
        shutdown: CancellationToken,
    ) -> Self {
        Self { tls, own, reaches_local, connections: SharedPlaces::new(max_connections), shutdown }
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
