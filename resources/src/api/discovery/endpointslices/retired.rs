//! Slices that are stored as `v1beta1`, where the zone and the node of an endpoint are parts of its topology.
//!
//! Kubernetes concept: the conversions of `pkg/apis/discovery/v1beta1`.

use registry_core::api::Object;
use resource_views::discovery::{v1, v1beta1};
use serde_json::Value;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST_NAME: &str = "kubernetes.io/hostname";

/// Changes a slice of `v1beta1` into one of `v1`.
pub(super) fn renew(slice: &mut Object) {
    v1beta1::EndpointSliceMut(slice).endpoints().elements().for_each(renew_endpoint);
}

fn renew_endpoint(mut endpoint: v1beta1::EndpointMut<'_>) {
    let Some(Value::Object(mut topology)) = endpoint.topology().remove() else { return };
    let mut endpoint = v1::EndpointMut(endpoint.0);
    if let Some(zone) = topology.remove(ZONE) {
        endpoint.zone().set_value(zone);
    }
    // A name that differs from the node's is kept.
    let has_node = endpoint.node_name().value().is_some_and(|node| topology.get(HOST_NAME) == Some(node));
    if has_node {
        topology.remove(HOST_NAME);
    }
    if !topology.is_empty() {
        endpoint.deprecated_topology().set_value(topology.into());
    }
}
