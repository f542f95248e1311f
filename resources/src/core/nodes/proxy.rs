//! `nodes/proxy`: what a node's kubelet serves, or another port of the node.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{GroupResource, GroupVersionKind, Scope, StatusError};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource};
use registry_core::resource::Resource;
use registry_core::rest::connect::{Accepted, ConnectRequest, Connecter, Connection, Exchange, OptionType};
use registry_core::rest::{Capabilities, Storage};
use registry_core::schema::Schema;

use super::Nodes;
use super::kubelet::Kubelets;
use crate::core::proxying::{PROXY_VERBS, Target, path_of, port_number};

const OPTIONS: GroupVersionKind = GroupVersionKind { group: "", version: "v1", kind: "NodeProxyOptions" };

static ACCEPTED: Accepted = Accepted {
    verbs: PROXY_VERBS,
    options_kind: OPTIONS,
    options: &[("path", OptionType::Text)],
    has_path: true,
};

/// The `proxy` subresource of nodes.
pub struct NodeProxy {
    kubelets: Kubelets,
}

impl Subresource for NodeProxy {
    type Parent = Nodes;
    type Storage = Self;
    const NAME: &'static str = "proxy";

    fn install(_: &Arc<Store>, services: &Services) -> Capabilities {
        capabilities!(Arc::new(Self { kubelets: Kubelets::new(services) }); connecter)
    }
}

impl Storage for NodeProxy {
    fn group_resource(&self) -> GroupResource {
        Nodes::TYPE.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        OPTIONS
    }

    fn scope(&self) -> Scope {
        Scope::Cluster
    }

    fn schema(&self) -> &'static Schema {
        crate::schema::of(OPTIONS.group, OPTIONS.version, OPTIONS.kind)
    }
}

#[async_trait]
impl Connecter for NodeProxy {
    fn accepts(&self) -> &'static Accepted {
        &ACCEPTED
    }

    async fn connect(
        &self,
        _context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let target = Target::parse(name)
            .ok_or_else(|| StatusError::bad_request(format!("invalid node request {name:?}")))?;
        let kubelet = self.kubelets.of_node(target.name).await?;
        if target.port.is_empty() || target.port == kubelet.port.to_string() {
            return Ok(Connection::To(kubelet.destination(path_of(request), None, Exchange::Any)));
        }
        let port = port_number(target.port)?;
        Ok(Connection::To(target.destination(&kubelet.host, Some(port), request)))
    }
}
