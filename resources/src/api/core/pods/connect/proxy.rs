//! `pods/proxy`: HTTP requests to a pod.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::{GroupVersionKind, Object, StatusError};
use registry_core::capabilities;
use registry_core::registry::{ConnectRules, ConnectStore, Services, Store, Subresource};
use registry_core::rest::Capabilities;
use registry_core::rest::connect::{ConnectRequest, ConnectSpec, Connection};
use resource_views::core::v1::{Container, Pod};

use crate::api::core::pods::Pods;
use crate::api::core::proxying::{Target, connect_spec, not_allowed, port_number};
use crate::support::lookup::read_newest;

static CONNECT_SPEC: ConnectSpec =
    connect_spec(GroupVersionKind { group: "", version: "v1", kind: "PodProxyOptions" });

/// The `proxy` subresource of pods.
pub struct PodProxy;

impl Subresource for PodProxy {
    type Parent = Pods;
    type Storage = ConnectStore;
    const NAME: &'static str = "proxy";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(ConnectStore::new(parent.clone(), Self); connecter)
    }
}

#[async_trait]
impl ConnectRules for PodProxy {
    fn connect_spec(&self) -> &'static ConnectSpec {
        &CONNECT_SPEC
    }

    async fn connect(
        &self,
        pods: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let target = Target::parse(name)
            .ok_or_else(|| StatusError::bad_request(format!("invalid pod request {}", quote(name))))?;
        let pod = read_newest(pods, context, target.name).await?;
        let port = match target.port {
            "" => first_port(&pod),
            port => Some(port_number(port)?),
        };
        let host = Pod(&pod).status().pod_ip().text();
        if host.is_empty() {
            return Err(not_allowed());
        }
        Ok(Connection::To(target.destination(host, port, request)))
    }
}

/// Returns the first port that a container declares.
fn first_port(pod: &Object) -> Option<u16> {
    let spec = Pod(pod).spec();
    let containers = spec.containers();
    let first = |container: Container<'_, '_>| {
        container.ports().elements().next().and_then(|port| port.container_port().integer())
    };
    containers.elements().find_map(first).and_then(|port| u16::try_from(port).ok())
}
