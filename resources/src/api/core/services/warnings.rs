//! Warnings about Services.

use registry_core::api::Object;
use resource_views::core::v1::Service;
use resource_views::{List, Text};

use super::service_type::{is_external_name, kind};
use crate::support::address;

const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";

/// Returns the warnings about a service.
pub(super) fn service_warnings(service: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    if service.annotation(OLD_HINTS).is_some() {
        warnings.push(format!(
            "annotation {OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let spec = Service(service).spec();
    let ip = spec.cluster_ip().text();
    if !matches!(ip, "" | "None") {
        warn_of_addresses(&spec.cluster_ips(), &mut warnings);
    }
    let is_headless = kind(service) == "ClusterIP" && ip == "None";
    let external = spec.external_ips();
    let balancer = spec.load_balancer_ip();
    if is_headless {
        let affinity = spec.session_affinity().text();
        for (is_set, field) in [
            (!balancer.text().is_empty(), "loadBalancerIP"),
            (!external.is_empty(), "externalIPs"),
            (affinity != "None", "SessionAffinity"),
        ] {
            if is_set {
                warnings.push(format!("spec.{field} is ignored for headless services"));
            }
        }
    }
    warn_of_addresses(&external, &mut warnings);
    if !external.is_empty() && !is_headless && !is_external_name(service) {
        warnings.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    if !balancer.text().is_empty() {
        warnings.extend(address::warning(&balancer.path(), balancer.text()));
    }
    for range in spec.load_balancer_source_ranges().elements() {
        address::warn_of_network(&range.path(), range.text(), &mut warnings);
    }
    if is_external_name(service) && !external.is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_external_name(service) && !spec.external_name().text().is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.traffic_distribution().text() == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
    warnings
}

fn warn_of_addresses(addresses: &List<Text<'_, '_>>, warnings: &mut Vec<String>) {
    for element in addresses.elements() {
        warnings.extend(address::warning(&element.path(), element.text()));
    }
}
