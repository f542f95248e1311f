//! Properties of a Service that follow from its type.

use registry_core::api::Object;

/// The type.
pub(super) fn kind(service: &Object) -> &str {
    service.get_str(&["spec", "type"]).unwrap_or("ClusterIP")
}

/// Whether it is an alias of an external name.
pub(super) fn is_external_name(service: &Object) -> bool {
    kind(service) == "ExternalName"
}

/// Whether it has a cluster IP, or is headless.
pub(super) fn has_cluster_ip(service: &Object) -> bool {
    matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
}

/// Whether it has node ports.
pub(super) fn has_node_ports(service: &Object) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}
