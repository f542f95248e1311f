//! Connections to pods: logs, exec, attach, port forwarding and proxying.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Services, Store, Stores};
use registry_core::rest::connect::{Destination, Exchange};
use resource_views::Typed as _;
use resource_views::core::v1::{Container, Pod};

use crate::api::core::kubelet::Kubelet;
use crate::api::core::nodes::Nodes;
use crate::support::lookup::{Lookup, read_newest};

pub mod log;
pub mod proxy;
pub mod stream;

/// The container lists of a pod, in the order of messages.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Finds the kubelets that run pods.
struct Kubelets {
    stores: Stores,
    address_types: Arc<[String]>,
}

/// The form of a request to the kubelet of a pod.
#[derive(Clone, Copy)]
struct KubeletRequest {
    /// The first segment of the path in the kubelet's API.
    path: &'static str,
    /// Whether the request names a container.
    is_in_container: bool,
    exchange: Exchange,
}

// === impl Kubelets ===

impl Kubelets {
    fn new(services: &Services) -> Self {
        Self { stores: services.stores.clone(), address_types: services.kubelet_address_types.clone() }
    }

    /// Returns the destination at the kubelet of this pod, without a query; `None` before the pod is assigned to a
    /// node.
    ///
    /// # Errors
    /// 404: the pod or its node does not exist. 400: the container is ambiguous.
    async fn destination(
        &self,
        pods: &Store,
        context: &RequestContext,
        name: &str,
        request_shape: KubeletRequest,
        options: &Object,
    ) -> Result<Option<Destination>, StatusError> {
        let pod = read_newest(pods, context, name).await?;
        let mut path = format!("/{}/{}/{name}", request_shape.path, context.namespace);
        if request_shape.is_in_container {
            path.push('/');
            path.push_str(container_of(&pod, options)?);
        }
        let node = Pod(&pod).spec().node_name().text();
        if node.is_empty() {
            return Ok(None);
        }
        let node = Lookup::within::<Nodes>(&self.stores)?.newest("", node).await?;
        Ok(Some(Kubelet::from_node(&node, &self.address_types)?.destination(path, request_shape.exchange)))
    }
}

/// Returns the container that the client names, or the only one.
///
/// # Errors
/// 400: there is no container of that name, or no name and several containers.
fn container_of<'p>(pod: &'p Object, options: &'p Object) -> Result<&'p str, StatusError> {
    let name = pod.name();
    let wanted = options.get_str(&["container"]).unwrap_or_default();
    if !wanted.is_empty() {
        return names(pod, &CONTAINER_LISTS).find(|candidate| *candidate == wanted).ok_or_else(|| {
            StatusError::bad_request(format!("container {wanted} is not valid for pod {name}"))
        });
    }
    let own: Vec<&str> = names(pod, &["containers"]).collect();
    let message = match own.as_slice() {
        [only] => return Ok(only),
        [] => format!("a container name must be specified for pod {name}"),
        _ => {
            let all: Vec<&str> = names(pod, &CONTAINER_LISTS).collect();
            let all = all.join(" ");
            format!("a container name must be specified for pod {name}, choose one of: [{all}]")
        }
    };
    Err(StatusError::bad_request(message))
}

fn names<'p>(pod: &'p Object, lists: &'p [&str]) -> impl Iterator<Item = &'p str> {
    let containers = lists.iter().filter_map(|list| pod.get(&["spec", list])?.as_array()).flatten();
    containers.map(|container| Container::from_value(container).name().text())
}
