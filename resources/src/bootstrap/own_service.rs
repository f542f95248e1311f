//! The Service `kubernetes`, by which pods reach this server, with its endpoints; and the address ranges of services.
//!
//! Kubernetes concept: `bootstrap-controller` (`pkg/controlplane/controller/kubernetesservice`) and
//! `start-kubernetes-service-cidr-controller` (`…/defaultservicecidr`).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::{Object, StatusError, time};
use registry_core::registry::InstalledApi;
use serde_json::{Value, json};

use super::{OWN_SERVICE_PERIOD, PostStartHook, ServerFacts};
use crate::core::endpoints::Endpoints;
use crate::core::services::Services;
use crate::discovery::endpointslices::EndpointSlices;
use crate::networking::servicecidrs::ServiceCIDRs;
use crate::support::system_writer::SystemWriter;

const NAME: &str = "kubernetes";
const NAMESPACE: &str = "default";
/// The port of the Service.
const SERVICE_PORT: u16 = 443;

/// Creates the object of the server's address ranges.
pub(super) struct DefaultRange {
    system_writer: SystemWriter,
    ranges: Vec<String>,
    is_mismatch_reported: AtomicBool,
}

/// Creates the service, and keeps its endpoints at the server's address.
pub(super) struct OwnService {
    services: SystemWriter,
    endpoints: Option<SystemWriter>,
    slices: Option<SystemWriter>,
    server: ServerFacts,
    /// Whether the objects were updated to fit this server. From then on they are only created when missing, because
    /// another server of the cluster may have updated them for itself.
    is_settled: AtomicBool,
}

// === impl DefaultRange ===

impl DefaultRange {
    /// Returns the present object with the range of the second family, if that is the only difference.
    fn with_second_family(&self, present: &Object) -> Option<Object> {
        let first = self.ranges.first().filter(|_| self.ranges.len() == 2)?;
        if present.get(&["spec", "cidrs"]) != Some(&json!([first])) {
            return None;
        }
        let mut range = present.clone();
        range.set(&["spec", "cidrs"], json!(self.ranges));
        Some(range)
    }

    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let system_writer = SystemWriter::of::<ServiceCIDRs>(installed)?;
        Some(Self { system_writer, ranges: server.service_ranges.all().map(|range| range.to_string()).collect(), is_mismatch_reported: AtomicBool::new(false) })
    }
}

#[async_trait]
impl PostStartHook for DefaultRange {
    fn name(&self) -> &'static str {
        "start-kubernetes-service-cidr-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(OWN_SERVICE_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let wanted = json!({ "metadata": { "name": NAME }, "spec": { "cidrs": self.ranges } });
        self.system_writer.ensure_one(object(wanted), |old, _| self.with_second_family(old)).await?;
        let Some(present) = self.system_writer.get_newest("", NAME).await? else { return Ok(()) };
        if present.deletion_timestamp().is_some() {
            return Ok(());
        }
        if present.get(&["spec", "cidrs"]) != Some(&json!(self.ranges)) {
            if !self.is_mismatch_reported.swap(true, Ordering::Relaxed) {
                let found = present.get(&["spec", "cidrs"]);
                tracing::warn!(?found, wanted = ?self.ranges, "the default ServiceCIDR does not match the flag");
            }
            return Ok(());
        }
        if !lacks_readiness(&present) {
            return Ok(());
        }
        let ready = json!([{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": time::now(),
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]);
        let with_ready = |present: &Object| {
            let mut range = present.clone();
            if lacks_readiness(present) {
                range.set(&["status", "conditions"], ready.clone());
            }
            range
        };
        self.system_writer.change_status("", NAME, with_ready).await
    }
}

/// Whether no condition says whether a range is ready.
fn lacks_readiness(range: &Object) -> bool {
    let conditions = range.get(&["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let is = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str) == Some(text)
    };
    let ready = conditions.find(|condition| is(condition, "type", "Ready"));
    ready.is_none_or(|condition| is(condition, "status", "Unknown"))
}

// === impl OwnService ===

impl OwnService {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        Some(Self {
            services: SystemWriter::of::<Services>(installed)?,
            endpoints: SystemWriter::of::<Endpoints>(installed),
            slices: SystemWriter::of::<EndpointSlices>(installed),
            server: server.clone(),
            is_settled: AtomicBool::new(false),
        })
    }

    fn service(&self) -> Object {
        let address = self.server.service_ranges.primary().first_address();
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
                // The slice is created directly, not mirrored from it.
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

    fn period(&self) -> Option<Duration> {
        Some(OWN_SERVICE_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let is_settled = self.is_settled.load(Ordering::Relaxed);
        let mend = |old: &Object, new: &Object, fields: &[&[&str]]| {
            // A server that has stopped leaves lists without an address.
            let is_withdrawn = fields.iter().all(|field| *field == ["ports"] || is_empty(old, field));
            if is_settled && !is_withdrawn { None } else { moved(old, new, fields) }
        };
        self.services.ensure_one(self.service(), |old, new| mend(old, new, &[&["spec", "ports"]])).await?;
        // Endpoints must not be loopback addresses: without another address there are none.
        if let Some(address) = self.server.advertise_address {
            if let Some(system_writer) = &self.endpoints {
                system_writer
                    .ensure_one(self.endpoints(address), |old, new| mend(old, new, &[&["subsets"]]))
                    .await?;
            }
            if let Some(system_writer) = &self.slices {
                let fields: [&[&str]; 2] = [&["endpoints"], &["ports"]];
                system_writer.ensure_one(self.slice(address), |old, new| mend(old, new, &fields)).await?;
            }
        }
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the address of this server, if it is the one that is published, so that clients do not connect to it any
    /// more.
    async fn withdraw(&self) -> Result<(), StatusError> {
        let Some(address) = self.server.advertise_address else { return Ok(()) };
        let parts: [(&Option<SystemWriter>, Object, &[&str]); 2] = [
            (&self.endpoints, self.endpoints(address), &["subsets"]),
            (&self.slices, self.slice(address), &["endpoints"]),
        ];
        for (system_writer, own, field) in parts {
            let Some(system_writer) = system_writer else { continue };
            // Defaults are part of what is stored.
            let own = system_writer.with_defaults(own);
            let withdrawn = |present: &Object| {
                let mut object = present.clone();
                if object.get(field) == own.get(field) {
                    object.set(field, Value::Null);
                    object = system_writer.with_defaults(object);
                }
                object
            };
            match system_writer.change(NAMESPACE, NAME, withdrawn).await {
                Err(failure) if !failure.is_not_found() => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_empty(object: &Object, field: &[&str]) -> bool {
    match object.get(field) {
        None | Some(Value::Null) => true,
        Some(value) => value.as_array().is_some_and(Vec::is_empty),
    }
}

/// Returns the present object with the wanted one's fields; `None` when they are equal.
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
