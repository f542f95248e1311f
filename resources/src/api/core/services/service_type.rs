//! Properties of a Service that follow from its type.

use registry_core::api::Object;
use resource_views::core::v1::Service;
use serde_json::Value;

/// The type.
pub(super) fn kind(service: &Object) -> &str {
    Service(service).spec().r#type().optional_text().unwrap_or("ClusterIP")
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

/// Whether clients outside of the cluster reach it.
pub(super) fn is_externally_accessible(service: &Object) -> bool {
    let has_addresses = || {
        let addresses = Service(service).spec().external_ips().value().and_then(Value::as_array);
        addresses.is_some_and(|addresses| !addresses.is_empty())
    };
    has_node_ports(service) || kind(service) == "ClusterIP" && has_addresses()
}

/// Whether nodes answer health checks for it.
pub(super) fn needs_health_check(service: &Object) -> bool {
    kind(service) == "LoadBalancer"
        && Service(service).spec().external_traffic_policy().optional_text() == Some("Local")
}
