//! Services that a server stored before they had several addresses and families: they are read with both.
//!
//! Kubernetes concept: `defaultOnReadService` of `pkg/registry/core/service/storage`.

use std::borrow::Cow;

use registry_core::api::Object;
use registry_core::codec::stored;
use serde::Deserialize;
use serde_json::json;

use super::cluster_ips::family_of;

/// The fields that tell whether a service lacks others.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "clusterIP")]
    address: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "clusterIPs")]
    addresses: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    ip_families: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    internal_traffic_policy: Option<Cow<'a, str>>,
}

/// Returns a stored service with the fields that it lacks; `None` if it lacks none, or cannot be read. The families of a
/// headless service without any depend on the cluster: its next update sets them.
pub(super) fn completed(json: &[u8]) -> Option<Object> {
    let spec = serde_json::from_slice::<Stored<'_>>(json).ok()?.spec?;
    let address = spec.address.unwrap_or_default();
    let is_alias = spec.kind.as_deref() == Some("ExternalName");
    let mut addresses: Vec<String> =
        spec.addresses.unwrap_or_default().into_iter().map(Cow::into_owned).collect();
    let lacks_addresses = addresses.is_empty() && !address.is_empty();
    if lacks_addresses {
        addresses.push(address.into_owned());
    }
    let mut families = addresses.iter().map_while(|address| family_of(address)).collect::<Vec<_>>();
    if is_alias || spec.ip_families.is_some_and(|families| !families.is_empty()) {
        families.clear();
    }
    let has_needless_policy = is_alias && spec.internal_traffic_policy.is_some();
    if !lacks_addresses && families.is_empty() && !has_needless_policy {
        return None;
    }
    let mut service = stored::decode(json).ok()?;
    if lacks_addresses {
        service.set(&["spec", "clusterIPs"], json!(addresses));
    }
    if !families.is_empty() {
        let policy = if families.len() == 1 { "SingleStack" } else { "RequireDualStack" };
        service.set(&["spec", "ipFamilies"], json!(families));
        service.set(&["spec", "ipFamilyPolicy"], policy.into());
    }
    if has_needless_policy {
        service.remove(&["spec", "internalTrafficPolicy"]);
    }
    Some(service)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn completed_spec(spec: &Value) -> Option<Value> {
        let json =
            json!({ "kind": "Service", "apiVersion": "v1", "metadata": { "name": "a" }, "spec": spec });
        completed(json.to_string().as_bytes()).and_then(|service| service.get(&["spec"]).cloned())
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
            assert_eq!(completed_spec(&spec), Some(whole), "{spec}");
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
            Value::Null,
        ] {
            assert_eq!(completed_spec(&spec), None, "{spec}");
        }
        assert!(completed(b"not json").is_none());
    }
}
