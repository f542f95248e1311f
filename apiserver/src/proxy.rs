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
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

mod dial;
mod forward;
mod headers;
mod probe;
mod tls;
mod tunnel;

pub(crate) use forward::ProxiedRequest;
pub(crate) use probe::ControlPlane;
pub(crate) use tls::{KubeletCertificate, KubeletIdentity, PeerTls};

/// So many requests are passed on at once: streams stay open for hours.
const MOST_CONNECTIONS: usize = 4096;
/// When a client may ask again that found all of them taken.
const RETRY_SECONDS: u32 = 5;

/// Passes requests on.
pub struct Proxy {
    tls: PeerTls,
    /// Where the server itself listens: it is never connected to.
    own: SocketAddr,
    /// Whether workloads may be at addresses of this machine: only in tests they are.
    reaches_local: bool,
    connections: Arc<Semaphore>,
    shutdown: CancellationToken,
}

// === impl Proxy ===

impl Proxy {
    /// Shows these certificates, and connects to everything but `own`, the server's own address. Streams end when
    /// `shutdown` is cancelled.
    pub(crate) fn new(
        tls: PeerTls,
        own: SocketAddr,
        reaches_local: bool,
        shutdown: CancellationToken,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        Self { tls, own, reaches_local, connections, shutdown }
    }

    fn admit(&self) -> Result<OwnedSemaphorePermit, StatusError> {
        self.connections
            .clone()
            .try_acquire_owned()
            .map_err(|_| StatusError::too_many_requests("too many connections are passed on", RETRY_SECONDS))
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxy")
    }
}
