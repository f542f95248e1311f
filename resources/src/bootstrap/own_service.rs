//! The Service `kubernetes`, by which pods reach this server, with its endpoints; and the range that the addresses of
//! services are from.
//!
//! Kubernetes concept: `bootstrap-controller` (`pkg/controlplane/controller/kubernetesservice`) and
//! `start-kubernetes-service-cidr-controller` (`…/defaultservicecidr`).

use std::net::IpAddr;

use async_trait::async_trait;
use registry_core::api::{Object, StatusError, time};
use registry_core::registry::InstalledApi;
use serde_json::{Value, json};

use super::{PostStartHook, ServerFacts};
use crate::core::endpoints::Endpoints;
use crate::core::services::Services;
use crate::discovery::endpointslices::EndpointSlices;
use crate::keeper::Keeper;
use crate::networking::servicecidrs::ServiceCIDRs;

const NAME: &str = "kubernetes";
const NAMESPACE: &str = "default";
/// Where pods find the server at the service's address.
const SERVICE_PORT: u16 = 443;

/// Makes the range.
pub(super) struct DefaultRange {
    ranges: Keeper,
    range: String,
}

/// Makes the service, and keeps its endpoints where the server is.
pub(super) struct OwnService {
    services: Keeper,
    endpoints: Option<Keeper>,
    slices: Option<Keeper>,
    server: ServerFacts,
}

// === impl DefaultRange ===

impl DefaultRange {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let ranges = Keeper::of::<ServiceCIDRs>(installed)?;
        Some(Self { ranges, range: server.service_range.to_string() })
    }
}

#[async_trait]
impl PostStartHook for DefaultRange {
    fn name(&self) -> &'static str {
        "start-kubernetes-service-cidr-controller"
    }

    async fn run(&self) -> Result<(), StatusError> {
        let range = object(json!({ "metadata": { "name": NAME }, "spec": { "cidrs": [self.range] } }));
        self.ranges.ensure(vec![range], |_, _| None).await?;
        let present = self.ranges.present().await?;
        let is_ready = match present.get("", NAME) {
            Some(entry) => self.ranges.read(entry)?.get(&["status", "conditions"]).is_some(),
            // Made just now: the cache need not have it yet.
            None => false,
        };
        if is_ready {
            return Ok(());
        }
        let ready = json!([{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": time::now(),
            "reason": "",
            "message": "Kubernetes Service CIDR is ready",
        }]);
        let with_ready = |present: &Object| {
            let mut range = present.clone();
            range.set(&["status", "conditions"], ready.clone());
            range
        };
        self.ranges.change_status("", NAME, with_ready).await
    }
}

// === impl OwnService ===

impl OwnService {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        Some(Self {
            services: Keeper::of::<Services>(installed)?,
            endpoints: Keeper::of::<Endpoints>(installed),
            slices: Keeper::of::<EndpointSlices>(installed),
            server: server.clone(),
        })
    }

    fn service(&self) -> Object {
        let address = self.server.service_range.first_address();
        object(json!({
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                "labels": { "component": "apiserver", "provider": "kubernetes" },
            },
            "spec": {
                "clusterIP": address,
                "clusterIPs": [address],
                "ipFamilies": [family(address)],
                "ipFamilyPolicy": "SingleStack",
                "ports": [{
                    "name": "https",
                    "port": SERVICE_PORT,
                    "protocol": "TCP",
                    "targetPort": self.server.secure_port,
                }],
                "sessionAffinity": "None",
                "type": "ClusterIP",
            },
        }))
    }

    fn port(&self) -> Value {
        json!({ "name": "https", "port": self.server.secure_port, "protocol": "TCP" })
    }

    fn endpoints(&self, address: IpAddr) -> Object {
        object(json!({
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                // The slice is made beside it, and not from it.
                "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
            },
            "subsets": [{ "addresses": [{ "ip": address }], "ports": [self.port()] }],
        }))
    }

    fn slice(&self, address: IpAddr) -> Object {
        object(json!({
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                "labels": { "kubernetes.io/service-name": NAME },
            },
            "addressType": family(address),
            "endpoints": [{ "addresses": [address], "conditions": { "ready": true } }],
            "ports": [self.port()],
        }))
    }
}

#[async_trait]
impl PostStartHook for OwnService {
    fn name(&self) -> &'static str {
        "bootstrap-controller"
    }

    async fn run(&self) -> Result<(), StatusError> {
        let port = ["spec", "ports"];
        self.services.ensure(vec![self.service()], |old, new| moved(old, new, &[&port])).await?;
        // Endpoints must not be loopback addresses: without another one there is nothing to tell.
        let Some(address) = self.server.advertise_address else { return Ok(()) };
        if let Some(keeper) = &self.endpoints {
            let wanted = vec![self.endpoints(address)];
            keeper.ensure(wanted, |old, new| moved(old, new, &[&["subsets"]])).await?;
        }
        if let Some(keeper) = &self.slices {
            let wanted = vec![self.slice(address)];
            let fields: [&[&str]; 2] = [&["endpoints"], &["ports"]];
            keeper.ensure(wanted, |old, new| moved(old, new, &fields)).await?;
        }
        Ok(())
    }
}

/// The present object with the wanted one's fields; `None` when they are the same.
fn moved(present: &Object, wanted: &Object, fields: &[&[&str]]) -> Option<Object> {
    let mut object = present.clone();
    for field in fields {
        object.copy_field(wanted, field);
    }
    (object != *present).then_some(object)
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap_or_default()
}
