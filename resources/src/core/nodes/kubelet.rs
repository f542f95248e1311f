//! How a node's kubelet is reached.
//!
//! Kubernetes concept: `ConnectionInfoGetter` in `pkg/kubelet/client`.

use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::{Services, Stores};
use registry_core::rest::connect::{Destination, Exchange, Peer, Scheme};
use serde_json::Value;

use super::Nodes;
use crate::lookup::Lookup;

/// Where a kubelet listens unless its node says otherwise.
const DEFAULT_PORT: u16 = 10250;

/// Finds the kubelets of nodes.
#[derive(Clone)]
pub(in crate::core) struct Kubelets {
    stores: Stores,
    address_types: std::sync::Arc<[String]>,
}

/// Where one kubelet listens.
pub(in crate::core) struct Kubelet {
    /// An address or a name.
    pub(in crate::core) host: String,
    /// The port.
    pub(in crate::core) port: u16,
}

// === impl Kubelets ===

impl Kubelets {
    pub(in crate::core) fn new(services: &Services) -> Self {
        Self { stores: services.stores.clone(), address_types: services.kubelet_address_types.clone() }
    }

    /// The kubelet of this node.
    ///
    /// # Errors
    /// 404: there is no such node. 500: it has no address to reach it by.
    pub(in crate::core) async fn of_node(&self, name: &str) -> Result<Kubelet, StatusError> {
        let node = Lookup::within::<Nodes>(&self.stores)?.newest("", name).await?;
        let port = node
            .get_i64(&["status", "daemonEndpoints", "kubeletEndpoint", "Port"])
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port != 0);
        Ok(Kubelet { host: self.host(&node)?, port: port.unwrap_or(DEFAULT_PORT) })
    }

    fn host(&self, node: &Object) -> Result<String, StatusError> {
        let empty = Vec::new();
        let addresses = node.get(&["status", "addresses"]).and_then(Value::as_array).unwrap_or(&empty);
        let text = |address: &Value, field: &str| {
            address.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let found = self.address_types.iter().find_map(|wanted| {
            let mut fitting = addresses.iter().filter(|address| text(address, "type") == *wanted);
            fitting.next().map(|address| text(address, "address"))
        });
        found.filter(|host| !host.is_empty()).ok_or_else(|| {
            let known: Vec<String> = addresses
                .iter()
                .map(|address| format!("{{{} {}}}", text(address, "type"), text(address, "address")))
                .collect();
            let known = known.join(" ");
            StatusError::new(
                Reason::Unknown,
                format!("no preferred addresses found; known addresses: [{known}]"),
            )
        })
    }
}

// === impl Kubelet ===

impl Kubelet {
    /// A connection to this path of it.
    pub(in crate::core) fn destination(
        self,
        path: String,
        query: Option<String>,
        exchange: Exchange,
    ) -> Destination {
        Destination {
            scheme: Scheme::Https,
            host: self.host,
            port: Some(self.port),
            path,
            query,
            peer: Peer::Kubelet,
            exchange,
        }
    }
}
