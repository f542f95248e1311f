//! `services/proxy`: HTTP requests to an endpoint of a service.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::{GroupVersionKind, Object, Reason, StatusError};
use registry_core::capabilities;
use registry_core::registry::{
    ConnectRules, ConnectStore, Services as ServerServices, Store, Stores, Subresource,
};
use registry_core::rest::Capabilities;
use registry_core::rest::connect::{ConnectRequest, ConnectSpec, Connection};
use resource_views::core::v1::{Endpoints as EndpointsView, Pod, Service};
use resource_views::discovery::v1::EndpointSlice;

use super::Services;
use crate::api::core::endpoints::Endpoints;
use crate::api::core::pods::Pods;
use crate::api::core::proxying::{Target, connect_spec};
use crate::api::discovery::endpointslices::EndpointSlices;
use crate::support::lookup::{Lookup, read_newest};

/// The label of a slice with the name of its service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

static CONNECT_SPEC: ConnectSpec =
    connect_spec(GroupVersionKind { group: "", version: "v1", kind: "ServiceProxyOptions" });

/// The `proxy` subresource of services.
pub struct ServiceProxy {
    stores: Stores,
}

/// An endpoint of a service.
struct Backend {
    address: String,
    port: u16,
    /// The pod behind it.
    pod: String,
}

impl Subresource for ServiceProxy {
    type Parent = Services;
    type Storage = ConnectStore;
    const NAME: &'static str = "proxy";

    fn install(parent: &Arc<Store>, server: &ServerServices) -> Capabilities {
        let proxy = Self { stores: server.stores.clone() };
        capabilities!(ConnectStore::new(parent.clone(), proxy); connecter)
    }
}

#[async_trait]
impl ConnectRules for ServiceProxy {
    fn connect_spec(&self) -> &'static ConnectSpec {
        &CONNECT_SPEC
    }

    async fn connect(
        &self,
        services: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let target = Target::parse(name)
            .ok_or_else(|| StatusError::bad_request(format!("invalid service request {}", quote(name))))?;
        let service = read_newest(services, context, target.name).await?;
        let port = port_name(&service, target.port)?;
        let backends = self.backends(&context.namespace, target.name, &port).await?;
        let backend = self.reachable(&context.namespace, backends).await?.ok_or_else(|| {
            let message = format!("no endpoints available for service {name:?}");
            StatusError::new(Reason::ServiceUnavailable, message)
        })?;
        Ok(Connection::To(target.destination(&backend.address, Some(backend.port), request)))
    }
}

// === impl ServiceProxy ===

impl ServiceProxy {
    /// Returns the endpoints of the port of this name: from the service's slices, or from its Endpoints if it has no
    /// slices.
    async fn backends(
        &self,
        namespace: &str,
        service: &str,
        port: &str,
    ) -> Result<Vec<Backend>, StatusError> {
        let mut backends = Vec::new();
        for slice in Lookup::within::<EndpointSlices>(&self.stores)?.newest_in(namespace).await? {
            if slice.label(SERVICE_LABEL) == Some(service) {
                add_from_slice(&slice, port, &mut backends);
            }
        }
        if backends.is_empty() {
            match Lookup::within::<Endpoints>(&self.stores)?.newest(namespace, service).await {
                Ok(endpoints) => add_from_endpoints(&endpoints, port, &mut backends),
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(backends)
    }

    /// Returns any of the endpoints whose address is that of its pod, so that a request cannot be redirected elsewhere.
    async fn reachable(
        &self,
        namespace: &str,
        mut backends: Vec<Backend>,
    ) -> Result<Option<Backend>, StatusError> {
        let pods = Lookup::within::<Pods>(&self.stores)?;
        // The clock is random enough to distribute requests.
        let ticks = jiff::Timestamp::now().subsec_nanosecond().unsigned_abs() as usize;
        if !backends.is_empty() {
            let first = ticks / 1000 % backends.len();
            backends.rotate_left(first);
        }
        for backend in backends {
            let pod = pods.get(namespace, &backend.pod).await?;
            if pod.is_some_and(|pod| has_address(&pod, &backend.address)) {
                return Ok(Some(backend));
            }
        }
        Ok(None)
    }
}

/// Returns the name of the port that is requested by name or number.
fn port_name(service: &Object, wanted: &str) -> Result<String, StatusError> {
    let Ok(number) = wanted.parse::<i64>() else { return Ok(wanted.to_owned()) };
    let spec = Service(service).spec();
    let ports = spec.ports();
    let port = ports.elements().find(|port| port.port().integer() == Some(number)).ok_or_else(|| {
        let message = format!("no service port {number} found for service {:?}", service.name());
        StatusError::new(Reason::ServiceUnavailable, message)
    })?;
    Ok(port.name().text().to_owned())
}

fn add_from_slice(slice: &Object, port: &str, backends: &mut Vec<Backend>) {
    let slice = EndpointSlice(slice);
    let ports = slice.ports();
    let ports = ports.elements().map(|port| (port.name().text(), port.port().number()));
    let Some(port) = port_of(ports, port) else { return };
    for endpoint in slice.endpoints().elements() {
        if endpoint.conditions().ready().truth() == Some(false) {
            continue;
        }
        let pod = endpoint.target_ref().name().text();
        for address in endpoint.addresses().texts() {
            backends.push(Backend { address: address.to_owned(), port, pod: pod.to_owned() });
        }
    }
}

fn add_from_endpoints(endpoints: &Object, port: &str, backends: &mut Vec<Backend>) {
    for subset in EndpointsView(endpoints).subsets().elements() {
        let ports = subset.ports();
        let ports = ports.elements().map(|port| (port.name().text(), port.port().number()));
        let Some(port) = port_of(ports, port) else { continue };
        for address in subset.addresses().elements() {
            let pod = address.target_ref().name().text().to_owned();
            backends.push(Backend { address: address.ip().text().to_owned(), port, pod });
        }
    }
}

/// Returns the number of the port of this name.
fn port_of<'v>(mut ports: impl Iterator<Item = (&'v str, i64)>, wanted: &str) -> Option<u16> {
    let (_, number) = ports.find(|(name, _)| *name == wanted)?;
    u16::try_from(number).ok().filter(|number| *number != 0)
}

fn has_address(pod: &Object, address: &str) -> bool {
    Pod(pod).status().pod_ips().elements().any(|entry| entry.ip().text() == address)
}
