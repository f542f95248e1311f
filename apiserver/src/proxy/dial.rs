//! Connections to proxied destinations.

use std::time::Duration;

use clients::dial::{Connection, DialError, is_global_unicast, is_local_name, resolve};
use clients::egress::Target;
use registry_core::rest::connect::{Destination, Peer, Scheme};

use super::Proxy;

/// Maximum time to resolve a name, connect, and complete the TLS handshake.
const TIMEOUT: Duration = Duration::from_secs(30);

// === impl Proxy ===

impl Proxy {
    /// Connects to a destination. Its name is resolved once, and every address of it must be allowed.
    pub(super) async fn dial(&self, to: &Destination) -> Result<Box<dyn Connection>, DialError> {
        let tls = match (to.scheme, to.peer) {
            (Scheme::Http, _) => None,
            (_, Peer::Kubelet | Peer::ProxiedKubelet) => Some(&self.tls.kubelet),
            (_, Peer::UnverifiedKubelet) => Some(&self.tls.unverified_kubelet),
            (_, Peer::Workload) => Some(&self.tls.workload),
        };
        let port = to.port.unwrap_or(to.scheme.default_port());
        let is_of_user = matches!(to.peer, Peer::Workload | Peer::ProxiedKubelet);
        let checks_address = is_of_user && !self.reaches_local;
        let dialed = async {
            let target = self.route.resolve(&to.host, port).await?;
            let addresses = match &target {
                Target::Addresses(addresses) => addresses.clone(),
                // A proxy resolves the name. It is resolved here too, as in Kubernetes, to know that it may be asked.
                Target::Name(name, port) if checks_address => resolve(name, *port).await?,
                Target::Name(name, port) if is_local_name(name) && *port == self.own.port() => {
                    return Err(DialError::OwnAddress(self.own));
                }
                Target::Name(..) => Vec::new(),
            };
            if checks_address && !addresses.iter().all(|address| is_global_unicast(address.ip())) {
                return Err(DialError::NotAllowed);
            }
            Target::Addresses(addresses).check_is_other(self.own)?;
            self.route.connect(&target, &to.host, tls.cloned()).await
        };
        match tokio::time::timeout(TIMEOUT, dialed).await {
            Ok(outcome) => outcome,
            Err(_) => Err(DialError::Timeout(format!("{}:{port}", to.host))),
        }
    }
}
