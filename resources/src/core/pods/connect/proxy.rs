//! `pods/proxy`: what a pod serves over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{GroupResource, GroupVersionKind, Object, Scope, StatusError};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource};
use registry_core::resource::Resource;
use registry_core::rest::connect::{Accepted, ConnectRequest, Connecter, Connection, OptionType};
use registry_core::rest::{Capabilities, Storage};
use registry_core::schema::Schema;
use serde_json::Value;

use crate::core::pods::Pods;
use crate::core::proxying::{PROXY_VERBS, Target, not_allowed, port_number};
use crate::lookup::read_newest;

const OPTIONS: GroupVersionKind = GroupVersionKind { group: "", version: "v1", kind: "PodProxyOptions" };

static ACCEPTED: Accepted = Accepted {
    verbs: PROXY_VERBS,
    options_kind: OPTIONS,
    options: &[("path", OptionType::Text)],
    has_path: true,
};

/// The `proxy` subresource of pods.
pub struct PodProxy {
    pods: Arc<Store>,
}

impl Subresource for PodProxy {
    type Parent = Pods;
    type Storage = Self;
    const NAME: &'static str = "proxy";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(Arc::new(Self { pods: parent.clone() }); connecter)
    }
}

impl Storage for PodProxy {
    fn group_resource(&self) -> GroupResource {
        Pods::TYPE.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        OPTIONS
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> &'static Schema {
        crate::schema::of(OPTIONS.group, OPTIONS.version, OPTIONS.kind)
    }
}

#[async_trait]
impl Connecter for PodProxy {
    fn accepts(&self) -> &'static Accepted {
        &ACCEPTED
    }

    async fn connect(
        &self,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let target = Target::parse(name)
            .ok_or_else(|| StatusError::bad_request(format!("invalid pod request {name:?}")))?;
        let pod = read_newest(&self.pods, context, target.name).await?;
        let port = match target.port {
            "" => first_port(&pod),
            port => Some(port_number(port)?),
        };
        let host = pod.get_str(&["status", "podIP"]).unwrap_or_default();
        if host.is_empty() {
            return Err(not_allowed());
        }
        Ok(Connection::To(target.destination(host, port, request)))
    }
}

/// The first port any container says it has.
fn first_port(pod: &Object) -> Option<u16> {
    let containers = pod.get(&["spec", "containers"]).and_then(Value::as_array).into_iter().flatten();
    let mut ports =
        containers.filter_map(|container| container.get("ports")?.get(0)?.get("containerPort")?.as_u64());
    ports.next().and_then(|port| u16::try_from(port).ok())
}
