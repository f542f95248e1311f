//! The `Available` condition: whether an extension server can be reached, and serves its group version.
//!
//! Services that fail are checked again after a quarter of a second, then less and less often; others every 30 seconds.
//!
//! Kubernetes concept: `AvailableConditionController` of `k8s.io/kube-aggregator`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::stream::{FuturesUnordered, StreamExt as _};
use http::Request;
use registry_core::api::selector::LabelSelector;
use registry_core::api::{ListOptions, Object};
use registry_core::registry::{Compiled, InstalledApi, Store};
use registry_core::rest::Lister as _;
use registry_core::{RequestContext, Resource as _};
use resources::apiregistration::apiservices::availability::{Availability, AvailabilityWriter};
use resources::discovery::endpointslices::EndpointSlices;
use serde_json::Value;
use tokio::time::Instant;

use super::RemoteApis;
use super::documents::get;
use super::remote_service::{RemoteService, ServiceReference, Trust};

/// Time between two checks of a service that passes.
const PERIOD: Duration = Duration::from_secs(30);
/// Time before a service that fails is checked again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// Maximum number of services that are checked at once.
const MAX_CHECKS: usize = 16;
/// Number of attempts of a request, of which one must succeed.
const ATTEMPTS: usize = 5;
/// Maximum time of an attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the answer to an attempt.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Keeps the conditions up to date.
pub(crate) struct AvailabilityController {
    remote: Arc<RemoteApis>,
    writer: AvailabilityWriter,
    slices: Option<Arc<Store>>,
}

/// When a service was checked, and what was checked.
struct Checked {
    uid: String,
    at: ServiceReference,
    trust: Trust,
    due: Instant,
    pause: Duration,
}

// === impl AvailabilityController ===

impl AvailabilityController {
    /// Creates the controller of an installed API; `None` if it has no APIServices.
    pub(crate) fn new(installed: &InstalledApi, remote: Arc<RemoteApis>) -> Option<Self> {
        let slices = installed.store(EndpointSlices::TYPE);
        Some(Self { remote, writer: AvailabilityWriter::new(installed)?, slices })
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(self) {
        let services: &Compiled<RemoteService> = &self.remote.services;
        let mut changes = services.subscribe();
        let mut checked = HashMap::<String, Checked>::new();
        loop {
            changes.mark_unchanged();
            let all = services.all();
            checked.retain(|name, _| all.iter().any(|service| service.name == *name));
            let now = Instant::now();
            let due: Vec<_> =
                all.into_iter().filter(|service| is_due(checked.get(&service.name), service, now)).collect();
            let checks = due.into_iter().map(|service| self.check(service));
            let mut checks = futures::stream::iter(checks).buffer_unordered(MAX_CHECKS);
            while let Some((service, passes)) = checks.next().await {
                let before = checked.remove(&service.name);
                checked.insert(service.name.clone(), Checked::after(&service, passes, before));
            }
            drop(checks);
            let next = checked.values().map(|checked| checked.due).min();
            let next = next.unwrap_or_else(|| Instant::now() + PERIOD);
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    /// Checks a service, writes its condition, and returns whether it passes.
    async fn check(&self, service: Arc<RemoteService>) -> (Arc<RemoteService>, bool) {
        let availability = self.availability(&service).await;
        let written = self.writer.write(&service.name, &service.uid, &availability).await;
        if let Err(failure) = &written {
            tracing::warn!(
                api_service = service.name,
                "cannot write whether a service is available: {failure}"
            );
        }
        let passes = availability.is_available() && written.is_ok();
        (service, passes)
    }

    async fn availability(&self, service: &RemoteService) -> Availability {
        let ServiceReference { namespace, name, port } = &service.at;
        let resolver = self.remote.forwarder.transports().resolver();
        let object = match resolver.find(namespace, name).await {
            Ok(Some(object)) => object,
            Ok(None) => {
                let text = format!("service/{name} in {namespace:?} is not present");
                return Availability::failed("ServiceNotFound", text);
            }
            Err(reason) => {
                let text = format!("service/{name} in {namespace:?} cannot be checked due to: {reason}");
                return Availability::unknown("ServiceAccessError", text);
            }
        };
        if object.get_str(&["spec", "type"]) == Some("ClusterIP") {
            let Some(port_name) = port_name(&object, *port) else {
                let text = format!("service/{name} in {namespace:?} is not listening on port {port}");
                return Availability::failed("ServicePortError", text);
            };
            if let Some(lacking) = self.endpoints(&service.at, &port_name).await {
                return lacking;
            }
        }
        match self.responds(service).await {
            Ok(()) => Availability::passed(),
            Err(reason) => Availability::failed("FailedDiscoveryCheck", reason),
        }
    }

    /// Returns what a service lacks to have an endpoint; `None` if it has one.
    async fn endpoints(&self, at: &ServiceReference, port_name: &str) -> Option<Availability> {
        let ServiceReference { namespace, name, .. } = at;
        let slices = match self.slices_of(namespace, name).await {
            Ok(slices) => slices,
            Err(reason) => {
                let text = format!("service/{name} in {namespace:?} cannot be checked due to: {reason}");
                return Some(Availability::unknown("EndpointsAccessError", text));
            }
        };
        if slices.is_empty() {
            let text = format!("cannot find endpointslices for service/{name} in {namespace:?}");
            return Some(Availability::failed("EndpointsNotFound", text));
        }
        if !slices.iter().any(|slice| has_endpoint(slice, port_name)) {
            let text = format!(
                "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
            );
            return Some(Availability::failed("MissingEndpoints", text));
        }
        None
    }

    async fn slices_of(&self, namespace: &str, name: &str) -> Result<Vec<Object>, String> {
        let store = self.slices.as_ref().ok_or("endpoint slices are not served")?;
        let selector = LabelSelector::parse(&format!("kubernetes.io/service-name={name}"));
        let options = ListOptions {
            label_selector: selector.map_err(|error| error.to_string())?,
            resource_version: Some(0),
            ..ListOptions::default()
        };
        let context = RequestContext::system(namespace);
        let listed = store.list(&context, &options).await.map_err(|failure| failure.to_string())?;
        listed.items.iter().map(|entry| store.read(entry).map_err(|error| error.to_string())).collect()
    }

    /// Requests the group version. One of several attempts must succeed: they may reach different endpoints.
    ///
    /// # Errors
    /// Fails with the reason of the last attempt.
    async fn responds(&self, service: &RemoteService) -> Result<(), String> {
        let Err(mut reason) = self.attempt(service).await else { return Ok(()) };
        let mut others: FuturesUnordered<_> = (1..ATTEMPTS).map(|_| self.attempt(service)).collect();
        while let Some(outcome) = others.next().await {
            match outcome {
                Ok(()) => return Ok(()),
                Err(other) => reason = other,
            }
        }
        Err(reason)
    }

    async fn attempt(&self, service: &RemoteService) -> Result<(), String> {
        let ServiceReference { namespace, name, port } = &service.at;
        let transports = self.remote.forwarder.transports();
        let host = transports.resolver().host(namespace, name, *port).await?;
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let url = format!("https://{host}:{port}{}", service.root());
        let request = Request::get(service.root()).body(Body::empty()).map_err(|error| error.to_string())?;
        let answered = get(transports, service, request, ATTEMPT_TIMEOUT, MAX_ANSWER_BYTES).await;
        let failing = |reason: &str| format!("failing or missing response from {url}: {reason}");
        let (head, _) = answered.map_err(|reason| failing(&format!("Get {url:?}: {reason}")))?;
        if head.status.is_success() {
            Ok(())
        } else {
            Err(failing(&format!("bad status from {url}: {}", head.status.as_u16())))
        }
    }
}

/// Returns whether a service has to be checked now.
fn is_due(checked: Option<&Checked>, service: &RemoteService, now: Instant) -> bool {
    checked.is_none_or(|checked| {
        checked.due <= now
            || checked.uid != service.uid
            || checked.at != service.at
            || checked.trust != service.trust
    })
}

/// Returns the name of a service's port, which may be empty; `None` if it has no such port.
fn port_name(service: &Object, port: u16) -> Option<String> {
    let mut ports = service.get(&["spec", "ports"])?.as_array()?.iter();
    let port = ports.find(|one| one.get("port").and_then(Value::as_u64) == Some(port.into()))?;
    Some(port.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Returns whether a slice has a ready endpoint, and this port.
fn has_endpoint(slice: &Object, port_name: &str) -> bool {
    let elements = |field: &'static str| slice.get(&[field]).and_then(Value::as_array).into_iter().flatten();
    let is_ready =
        |endpoint: &Value| endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true);
    let is_port = |port: &Value| {
        port.get("name").and_then(Value::as_str).unwrap_or_default() == port_name
            && port.get("port").is_some()
    };
    elements("endpoints").any(is_ready) && elements("ports").any(is_port)
}

// === impl Checked ===

impl Checked {
    fn after(service: &RemoteService, passes: bool, before: Option<Self>) -> Self {
        let is_same = |before: &Self| before.uid == service.uid && before.at == service.at;
        let pause = match before.filter(is_same) {
            _ if passes => BACKOFF.0,
            Some(before) => (before.pause * 2).min(BACKOFF.1),
            None => BACKOFF.0,
        };
        let due = Instant::now() + if passes { PERIOD } else { pause };
        Self { uid: service.uid.clone(), at: service.at.clone(), trust: service.trust.clone(), due, pause }
    }
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
}
