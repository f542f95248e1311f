//! The endpoints of the Service `kubernetes`: the addresses of all servers that run.
//!
//! Kubernetes concept: `pkg/controlplane/reconcilers`.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::core::v1 as views;
use serde_json::{Value, json};

use super::ServerFacts;
use super::{SERVICE_NAME, SERVICE_NAMESPACE};
use crate::api::core::endpoints::Endpoints;
use crate::api::core::services::family_of;
use crate::api::discovery::endpointslices::EndpointSlices;
use crate::support::system_writer::SystemWriter;

const SUBSETS: [&str; 1] = ["subsets"];
const ADDRESS_TYPE: [&str; 1] = ["addressType"];
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";

/// Records which servers run on the same store.
#[async_trait]
pub trait ServerLeases: fmt::Debug + Send + Sync + 'static {
    /// Records that the server at this address runs, for some seconds.
    ///
    /// # Errors
    /// The store failed. Retryable.
    async fn renew(&self, address: IpAddr) -> Result<(), StatusError>;

    /// Removes the record of the server at this address.
    ///
    /// # Errors
    /// The store failed. Retryable.
    async fn remove(&self, address: IpAddr) -> Result<(), StatusError>;

    /// Returns the addresses of all servers that run.
    ///
    /// # Errors
    /// The store failed. Retryable.
    async fn list(&self) -> Result<BTreeSet<IpAddr>, StatusError>;
}

/// The way in which servers agree on the endpoints.
#[derive(Clone, Debug)]
pub enum EndpointsOwner {
    /// This server is the only one on its store.
    Alone,
    /// Each server has a lease; the endpoints are those with one.
    Leases(Arc<dyn ServerLeases>),
    /// Each server adds itself, up to this number of servers.
    Count(usize),
}

/// Keeps the endpoints.
pub(super) struct OwnEndpoints {
    endpoints: Option<SystemWriter>,
    slices: Option<SystemWriter>,
    address: IpAddr,
    port: u16,
    owner: EndpointsOwner,
    /// Whether the endpoints fit this server: a server that ended without a withdrawal may have had another port.
    is_settled: AtomicBool,
}

// === impl OwnEndpoints ===

impl OwnEndpoints {
    /// Returns `None` if the server has no address to publish. Endpoints must not be loopback addresses.
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        Some(Self {
            endpoints: SystemWriter::for_resource::<Endpoints>(installed),
            slices: SystemWriter::for_resource::<EndpointSlices>(installed),
            address: server.advertise_address?,
            port: server.secure_port,
            owner: server.endpoints_owner.clone(),
            is_settled: AtomicBool::new(false),
        })
    }

    /// Publishes the servers that run, this one included.
    pub(super) async fn reconcile(&self) -> Result<(), StatusError> {
        if let EndpointsOwner::Leases(leases) = &self.owner {
            leases.renew(self.address).await?;
        }
        self.publish(true).await?;
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Publishes the other servers that run.
    pub(super) async fn withdraw(&self) -> Result<(), StatusError> {
        if let EndpointsOwner::Leases(leases) = &self.owner {
            leases.remove(self.address).await?;
        }
        self.publish(false).await
    }

    async fn publish(&self, is_running: bool) -> Result<(), StatusError> {
        let present = match &self.endpoints {
            Some(endpoints) => endpoints.get_newest(SERVICE_NAMESPACE, SERVICE_NAME).await?,
            None => None,
        };
        let subset = self.subset(present.as_ref(), is_running).await?;
        if let Some(endpoints) = &self.endpoints {
            self.write_endpoints(endpoints, present, &subset).await?;
        }
        match &self.slices {
            Some(slices) => write_slice(slices, &subset, is_running).await,
            None => Ok(()),
        }
    }

    /// Returns the addresses and ports to be published.
    async fn subset(&self, present: Option<&Object>, is_running: bool) -> Result<Subset, StatusError> {
        let found = present.and_then(Subset::from_endpoints);
        let mut addresses = match &self.owner {
            EndpointsOwner::Alone => BTreeSet::new(),
            EndpointsOwner::Leases(leases) => leases.list().await?,
            EndpointsOwner::Count(_) => {
                found.as_ref().map(|found| found.addresses.clone()).unwrap_or_default()
            }
        };
        if is_running {
            addresses.insert(self.address);
        } else {
            addresses.remove(&self.address);
        }
        if let EndpointsOwner::Count(count) = self.owner {
            self.limit(&mut addresses, count);
        }
        // All servers have the same port; only a server that is alone decides which.
        let is_alone = addresses.len() == 1 && is_running && !self.is_settled.load(Ordering::Relaxed);
        let ports = found.map(|found| found.ports).filter(|_| !is_alone);
        Ok(Subset { addresses, ports: ports.unwrap_or_else(|| self.ports()) })
    }

    /// Removes addresses above the number of servers: those after the own one, as all servers do.
    fn limit(&self, addresses: &mut BTreeSet<IpAddr>, count: usize) {
        while addresses.len() > count {
            let after = addresses.range(self.address..).find(|address| **address != self.address).copied();
            let Some(address) = after.or_else(|| addresses.first().copied()) else { return };
            addresses.remove(&address);
        }
    }

    fn ports(&self) -> Value {
        json!([{ "name": "https", "port": self.port, "protocol": "TCP" }])
    }

    async fn write_endpoints(
        &self,
        system_writer: &SystemWriter,
        present: Option<Object>,
        subset: &Subset,
    ) -> Result<(), StatusError> {
        let Some(present) = present else {
            // A server that ends creates none.
            return if subset.addresses.is_empty() {
                Ok(())
            } else {
                system_writer.create(subset.endpoints()).await
            };
        };
        let is_same = Subset::from_endpoints(&present).as_ref() == Some(subset)
            || subset.addresses.is_empty() && is_empty(&present, &SUBSETS);
        if is_same && present.label(SKIP_MIRROR) == Some("true") {
            return Ok(());
        }
        let mut changed = present;
        let wanted = subset.endpoints();
        changed.copy_field(&wanted, &SUBSETS);
        changed.copy_field(&wanted, &["metadata", "labels", SKIP_MIRROR]);
        system_writer.replace(changed).await
    }
}

/// The addresses and ports of the servers.
#[derive(Clone, Debug, PartialEq)]
struct Subset {
    addresses: BTreeSet<IpAddr>,
    /// The ports of Endpoints.
    ports: Value,
}

// === impl Subset ===

impl Subset {
    /// Returns the only subset of Endpoints; `None` if they have another form.
    fn from_endpoints(endpoints: &Object) -> Option<Self> {
        let subsets = views::Endpoints(endpoints).subsets();
        let subset = subsets.only_element()?;
        let addresses = subset.addresses();
        let parsed = addresses.elements().map(|address| address.ip().text().parse().ok());
        let addresses = parsed.collect::<Option<BTreeSet<IpAddr>>>().filter(|_| addresses.exists());
        Some(Self { addresses: addresses?, ports: subset.ports().value()?.clone() })
    }

    fn endpoints(&self) -> Object {
        let addresses: Vec<Value> = self.addresses.iter().map(|address| json!({ "ip": address })).collect();
        let mut endpoints = object(json!({
            "metadata": {
                "name": SERVICE_NAME,
                "namespace": SERVICE_NAMESPACE,
                // The slice is created directly, not mirrored from it.
                "labels": { SKIP_MIRROR: "true" },
            },
        }));
        let subsets = if addresses.is_empty() {
            Value::Null
        } else {
            json!([{ "addresses": addresses, "ports": self.ports }])
        };
        endpoints.set(&SUBSETS, subsets);
        endpoints
    }

    /// Returns the slice. It has the addresses of one family: IPv6 if all have it.
    fn slice(&self) -> Object {
        let are_six = !self.addresses.is_empty() && self.addresses.iter().all(IpAddr::is_ipv6);
        let family_of_slice = if are_six { "IPv6" } else { "IPv4" };
        let addresses = self.addresses.iter().filter(|address| family_of(**address) == family_of_slice);
        let endpoint = |address| json!({ "addresses": [address], "conditions": { "ready": true } });
        let endpoints: Vec<Value> = addresses.map(endpoint).collect();
        let mut slice = object(json!({
            "metadata": {
                "name": SERVICE_NAME,
                "namespace": SERVICE_NAMESPACE,
                "labels": { "kubernetes.io/service-name": SERVICE_NAME },
            },
            "addressType": family_of_slice,
            "ports": self.ports,
        }));
        slice.set(&["endpoints"], if endpoints.is_empty() { Value::Null } else { json!(endpoints) });
        slice
    }
}

async fn write_slice(slices: &SystemWriter, subset: &Subset, is_running: bool) -> Result<(), StatusError> {
    // Defaults are part of what is stored.
    let wanted = slices.with_defaults(subset.slice());
    let Some(present) = slices.get_newest(SERVICE_NAMESPACE, SERVICE_NAME).await? else {
        return if is_running { slices.create(wanted).await } else { Ok(()) };
    };
    if present.get(&ADDRESS_TYPE) != wanted.get(&ADDRESS_TYPE) {
        if subset.addresses.is_empty() {
            return slices.remove(SERVICE_NAMESPACE, SERVICE_NAME).await;
        }
        // The type of a slice is immutable.
        slices.remove(SERVICE_NAMESPACE, SERVICE_NAME).await?;
        return slices.create(wanted).await;
    }
    let mut changed = present.clone();
    for field in [&["endpoints"][..], &["ports"], &["metadata", "labels", "kubernetes.io/service-name"]] {
        changed.copy_field(&wanted, field);
    }
    if changed == present || is_empty(&changed, &["endpoints"]) && is_empty(&present, &["endpoints"]) {
        return Ok(());
    }
    match slices.replace(changed).await {
        // Another server was faster.
        Err(failure) if failure.reason == Reason::Conflict && !is_running => Ok(()),
        outcome => outcome,
    }
}

fn is_empty(object: &Object, field: &[&str]) -> bool {
    match object.get(field) {
        None | Some(Value::Null) => true,
        Some(value) => value.as_array().is_some_and(Vec::is_empty),
    }
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap_or_default()
}
