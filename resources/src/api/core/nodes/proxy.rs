//! `nodes/proxy`: the kubelet's API, or another port of the node.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::{GroupVersionKind, StatusError};
use registry_core::capabilities;
use registry_core::registry::{ConnectRules, ConnectStore, Services, Store, Subresource};
use registry_core::rest::Capabilities;
use registry_core::rest::connect::{ConnectRequest, ConnectSpec, Connection, Destination, Exchange, Peer};

use super::Nodes;
use crate::api::core::kubelet::Kubelet;
use crate::api::core::proxying::{Target, connect_spec, path_of, port_number};
use crate::support::lookup::read_newest;

static CONNECT_SPEC: ConnectSpec =
    connect_spec(GroupVersionKind { group: "", version: "v1", kind: "NodeProxyOptions" });

/// The `proxy` subresource of nodes.
pub struct NodeProxy {
    address_types: Arc<[String]>,
}

impl Subresource for NodeProxy {
    type Parent = Nodes;
    type Storage = ConnectStore;
    const NAME: &'static str = "proxy";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        let proxy = Self { address_types: services.kubelet_address_types.clone() };
        capabilities!(ConnectStore::new(parent.clone(), proxy); connecter)
    }
}

#[async_trait]
impl ConnectRules for NodeProxy {
    fn connect_spec(&self) -> &'static ConnectSpec {
        &CONNECT_SPEC
    }

    async fn connect(
        &self,
        nodes: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let target = Target::parse(name)
            .ok_or_else(|| StatusError::bad_request(format!("invalid node request {}", quote(name))))?;
        let node = read_newest(nodes, context, target.name).await?;
        let kubelet = Kubelet::from_node(&node, &self.address_types)?;
        if target.port.is_empty() || target.port == kubelet.port.to_string() {
            let kubelet = kubelet.destination(path_of(request), Exchange::Any);
            return Ok(Connection::To(Destination { peer: Peer::ProxiedKubelet, ..kubelet }));
        }
        let port = port_number(target.port)?;
        Ok(Connection::To(target.destination(&kubelet.host, Some(port), request)))
    }
}
