//! The endpoints of extension servers, for `--enable-aggregator-routing`.
//!
//! Without it requests go to the address of the service, which the network routes to an endpoint.
//!
//! Kubernetes concept: `ResolveEndpoint` in `k8s.io/apiserver/pkg/util/proxy`.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clients::ServiceError;
use registry_core::Resource as _;
use registry_core::api::Object;
use registry_core::registry::{Compiled, InformerTask, InstalledApi};
use resources::api::discovery::endpointslices::EndpointSlices;
use serde_json::Value;

use super::error::RemoteError;
use super::remote_service::ServiceReference;

/// The label of a slice that names its service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Chooses endpoints of services.
pub(super) struct EndpointRouting {
    slices: Arc<Compiled<ServiceSlice>>,
    turns: AtomicU64,
    order: RandomState,
}

/// The ready endpoints of a slice.
struct ServiceSlice {
    service: String,
    family: String,
    /// The ports with a number, by name.
    ports: Vec<(String, u16)>,
    addresses: Vec<IpAddr>,
}

// === impl EndpointRouting ===

impl EndpointRouting {
    /// Follows the endpoint slices of an installed API; `None` if it has none.
    pub(super) fn new(installed: &InstalledApi) -> Option<(Self, InformerTask)> {
        let store = installed.store(EndpointSlices::TYPE)?;
        let (slices, informer) = Compiled::informer(store, |object| ServiceSlice::from_object(&object));
        let routing = Self { slices, turns: AtomicU64::default(), order: RandomState::new() };
        Some((routing, informer.into_task()))
    }

    /// Returns a ready endpoint of a service, another one for each call.
    ///
    /// # Errors
    /// Fails with a reason if there is none.
    pub(super) fn endpoint(
        &self,
        at: &ServiceReference,
        service: &Object,
    ) -> Result<SocketAddr, RemoteError> {
        let ServiceReference { namespace, name, port } = at;
        let kind = service.get_str(&["spec", "type"]).unwrap_or_default();
        if !matches!(kind, "ClusterIP" | "LoadBalancer" | "NodePort") {
            return Err(ServiceError::UnsupportedType(kind.to_owned()).into());
        }
        let port_name = port_name(service, *port)
            .ok_or_else(|| ServiceError::NoPort { name: name.clone(), port: *port })?;
        let families = service.get(&["spec", "ipFamilies"]).and_then(Value::as_array);
        let family = families.and_then(|families| families.first()?.as_str()).unwrap_or("IPv4");
        let slices = self.slices.snapshot();
        let own = slices.in_namespace(namespace).map(AsRef::as_ref).filter(|slice| slice.service == *name);
        let turn = self.order.hash_one(self.turns.fetch_add(1, Ordering::Relaxed));
        choose(own, family, &port_name, turn).ok_or_else(|| RemoteError::NoEndpoints(name.clone()))
    }
}

// === impl ServiceSlice ===

impl ServiceSlice {
    fn from_object(slice: &Object) -> Option<Self> {
        let elements =
            |field: &'static str| slice.get(&[field]).and_then(Value::as_array).into_iter().flatten();
        let ports = elements("ports").filter_map(|port| {
            let number = u16::try_from(port.get("port")?.as_u64()?).ok()?;
            Some((port.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(), number))
        });
        // Kubernetes uses the first address of an endpoint only.
        let addresses = elements("endpoints")
            .filter(|endpoint| is_ready(endpoint))
            .filter_map(|endpoint| endpoint.pointer("/addresses/0")?.as_str()?.parse().ok());
        Some(Self {
            service: slice.get_str(&["metadata", "labels", SERVICE_NAME])?.to_owned(),
            family: slice.get_str(&["addressType"]).unwrap_or_default().to_owned(),
            ports: ports.collect(),
            addresses: addresses.collect(),
        })
    }
}

/// Chooses the endpoint of this turn: one of the preferred family, if it has any.
fn choose<'s>(
    slices: impl Iterator<Item = &'s ServiceSlice>,
    family: &str,
    port_name: &str,
    turn: u64,
) -> Option<SocketAddr> {
    let mut preferred = Vec::new();
    let mut others = Vec::new();
    for slice in slices {
        let Some((_, port)) = slice.ports.iter().find(|(name, _)| name == port_name) else { continue };
        let all = if slice.family == family { &mut preferred } else { &mut others };
        all.extend(slice.addresses.iter().map(|address| SocketAddr::new(*address, *port)));
    }
    let all = if preferred.is_empty() { others } else { preferred };
    let index = turn.checked_rem(all.len() as u64)?;
    all.get(usize::try_from(index).ok()?).copied()
}

fn is_ready(endpoint: &Value) -> bool {
    endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true)
}

/// Returns the name of a service's port, which may be empty; `None` if it has no such port.
pub(super) fn port_name(service: &Object, port: u16) -> Option<String> {
    let mut ports = service.get(&["spec", "ports"])?.as_array()?.iter();
    let port = ports.find(|entry| entry.get("port").and_then(Value::as_u64) == Some(port.into()))?;
    Some(port.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Returns whether a slice has a ready endpoint, and this port.
pub(super) fn has_endpoint(slice: &Object, port_name: &str) -> bool {
    let elements = |field: &'static str| slice.get(&[field]).and_then(Value::as_array).into_iter().flatten();
    let is_port = |port: &Value| {
        port.get("name").and_then(Value::as_str).unwrap_or_default() == port_name
            && port.get("port").is_some()
    };
    elements("endpoints").any(is_ready) && elements("ports").any(is_port)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_endpoint_is_ready_unless_it_says_otherwise() {
        let slice = |ready: Value, port: Value| {
            let endpoints = json!([{ "addresses": ["10.0.0.1"], "conditions": ready }]);
            Object::from_value(json!({ "endpoints": endpoints, "ports": [port] })).unwrap()
        };
        let https = || json!({ "name": "https", "port": 443 });
        assert!(has_endpoint(&slice(json!({}), https()), "https"));
        assert!(has_endpoint(&slice(json!({ "ready": true }), https()), "https"));
        assert!(!has_endpoint(&slice(json!({ "ready": false }), https()), "https"));
        assert!(!has_endpoint(&slice(json!({}), https()), ""));
        assert!(has_endpoint(&slice(json!({}), json!({ "name": "", "port": 443 })), ""));
    }

    #[test]
    fn ports_are_found_by_number() {
        let service = json!({ "spec": { "ports": [{ "port": 80, "name": "http" }, { "port": 443 }] } });
        let service = Object::from_value(service).unwrap();
        assert_eq!(port_name(&service, 80).as_deref(), Some("http"));
        assert_eq!(port_name(&service, 443).as_deref(), Some(""));
        assert_eq!(port_name(&service, 8443), None);
    }

    #[test]
    fn requests_are_spread_over_the_ready_endpoints_of_the_first_family() {
        let slice = |family: &str, endpoints: Value| {
            let slice = json!({
                "metadata": { "name": "s", "labels": { "kubernetes.io/service-name": "s" } },
                "addressType": family,
                "endpoints": endpoints,
                "ports": [{ "name": "https", "port": 8443 }, { "name": "none" }],
            });
            ServiceSlice::from_object(&Object::from_value(slice).unwrap()).unwrap()
        };
        let ready = |address: &str| json!({ "addresses": [address] });
        let unready = json!({ "addresses": ["10.0.0.9"], "conditions": { "ready": false } });
        let fourth = slice("IPv4", json!([ready("10.0.0.1"), unready, ready("10.0.0.2")]));
        let sixth = slice("IPv6", json!([ready("2001:db8::1")]));
        let names = slice("FQDN", json!([ready("a.example.com")]));
        let chosen = |family: &str, port: &str| -> Vec<String> {
            let slices = [&names, &sixth, &fourth];
            let all: std::collections::BTreeSet<String> = (0..64)
                .filter_map(|turn| choose(slices.into_iter(), family, port, turn))
                .map(|address| address.to_string())
                .collect();
            all.into_iter().collect()
        };
        assert_eq!(chosen("IPv4", "https"), ["10.0.0.1:8443", "10.0.0.2:8443"]);
        assert_eq!(chosen("IPv6", "https"), ["[2001:db8::1]:8443"]);
        assert!(chosen("IPv4", "http").is_empty() && chosen("IPv4", "none").is_empty());
    }
}
