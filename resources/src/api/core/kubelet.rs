//! Addresses of kubelets.
//!
//! Kubernetes concept: `ConnectionInfoGetter` in `pkg/kubelet/client`.

use registry_core::api::{Object, Reason, StatusError};
use registry_core::rest::connect::{Destination, Exchange, Peer, Scheme};
use resource_views::core::v1::Node;

/// The kubelet's port if the node does not specify one.
const DEFAULT_PORT: u16 = 10250;

/// The address of a kubelet.
pub(super) struct Kubelet {
    /// An address or a name.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
}

// === impl Kubelet ===

impl Kubelet {
    /// Returns the kubelet of this node, by the first of its addresses of the most preferred type.
    ///
    /// # Errors
    /// 500: the node has no usable address.
    pub(super) fn from_node(node: &Object, address_types: &[String]) -> Result<Self, StatusError> {
        let port = Node(node)
            .status()
            .daemon_endpoints()
            .kubelet_endpoint()
            .port()
            .integer()
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port != 0);
        Ok(Self { host: host(node, address_types)?, port: port.unwrap_or(DEFAULT_PORT) })
    }

    /// Returns a connection to this path of the kubelet, with the query of the request.
    pub(super) fn destination(self, path: String, exchange: Exchange) -> Destination {
        Destination {
            scheme: Scheme::Https,
            host: self.host,
            port: Some(self.port),
            path,
            query: None,
            peer: Peer::Kubelet,
            exchange,
        }
    }
}

fn host(node: &Object, address_types: &[String]) -> Result<String, StatusError> {
    let status = Node(node).status();
    let addresses = status.addresses();
    let found = address_types.iter().find_map(|wanted| {
        let fitting = addresses.elements().find(|address| address.r#type().text() == wanted);
        fitting.map(|address| address.address().text().to_owned())
    });
    found.filter(|host| !host.is_empty()).ok_or_else(|| {
        let known: Vec<String> = addresses
            .elements()
            .map(|address| format!("{{{} {}}}", address.r#type().text(), address.address().text()))
            .collect();
        let known = known.join(" ");
        StatusError::new(Reason::Unknown, format!("no preferred addresses found; known addresses: [{known}]"))
    })
}
