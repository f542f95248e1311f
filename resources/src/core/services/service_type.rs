//! What follows from a Service's type.

use registry_core::api::Object;

/// The type.
pub(super) fn kind(service: &Object) -> &str {
    service.get_str(&["spec", "type"]).unwrap_or("ClusterIP")
}

/// Whether it is only a name for something elsewhere.
pub(super) fn is_external_name(service: &Object) -> bool {
    kind(service) == "ExternalName"
}

/// Whether it has an address in the cluster (or says that it wants none).
pub(super) fn has_cluster_ip(service: &Object) -> bool {
    matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
}

/// Whether it may be reached at ports of the nodes.
pub(super) fn has_node_ports(service: &Object) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}
