//! Services that a server stored before they had several addresses and families: they are read with both.
//!
//! Kubernetes concept: `defaultOnReadService` of `pkg/registry/core/service/storage`.

use registry_core::api::Object;
use resource_views::core::v1::{Service, ServiceMut};
use serde_json::json;

use super::cluster_ips::family_of;

/// Sets the addresses and families that a stored service lacks. The families of a headless service without any depend on
/// the cluster: its next update sets them.
pub(super) fn complete(service: &mut Object) {
    let mut spec = ServiceMut(service).spec().or_new();
    let address = spec.cluster_ip().text().to_owned();
    if !address.is_empty() {
        spec.cluster_ips().or_if_empty(|| json!([address]));
    }
    if spec.r#type().is("ExternalName") {
        spec.internal_traffic_policy().remove();
        return;
    }
    let spec = Service(service).spec();
    let families: Vec<_> = spec.cluster_ips().texts().map_while(family_of).collect();
    let mut spec = ServiceMut(service).spec().or_new();
    if !families.is_empty() && spec.ip_families().is_empty() {
        spec.ip_family_policy().set(if families.len() == 1 { "SingleStack" } else { "RequireDualStack" });
        spec.ip_families().set_value(json!(families));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn completed(spec: &Value) -> Value {
        let service =
            json!({ "kind": "Service", "apiVersion": "v1", "metadata": { "name": "a" }, "spec": spec });
        let mut service = Object::from_value(service).unwrap();
        complete(&mut service);
        service.get(&["spec"]).cloned().unwrap_or_default()
    }

    #[test]
    fn stored_services_without_newer_fields_are_completed() {
        for (spec, whole) in [
            (
                json!({ "clusterIP": "10.0.0.9" }),
                json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv4"],
                        "ipFamilyPolicy": "SingleStack" }),
            ),
            (
                json!({ "clusterIP": "fd00::9", "clusterIPs": ["fd00::9", "10.0.0.9"] }),
                json!({ "clusterIP": "fd00::9", "clusterIPs": ["fd00::9", "10.0.0.9"],
                        "ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack" }),
            ),
            (json!({ "clusterIP": "None" }), json!({ "clusterIP": "None", "clusterIPs": ["None"] })),
            (
                json!({ "type": "ExternalName", "externalName": "a.b", "internalTrafficPolicy": "Cluster" }),
                json!({ "type": "ExternalName", "externalName": "a.b" }),
            ),
        ] {
            assert_eq!(completed(&spec), whole, "{spec}");
        }
    }

    #[test]
    fn whole_and_unreadable_services_stay_as_they_are() {
        for spec in [
            json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv4"] }),
            json!({ "clusterIP": "None", "clusterIPs": ["None"] }),
            json!({ "type": "ExternalName", "externalName": "a.b" }),
            json!({ "clusterIP": 7 }),
            json!({}),
        ] {
            assert_eq!(completed(&spec), spec);
        }
    }
}
