//! `v1 Service`: a name and an address for the pods that a selector finds.
//!
//! | module | contents |
//! |---|---|
//! | `strategy` | the steps of a write, which call the modules below |
//! | `validation`, `cluster_ips` | the rules of the fields; those of cluster IPs and families |
//! | `type_change` | fields that go with the former type, and fields that must not change |
//! | `warnings` | warnings |
//! | `service_type` | what a Service of a type has: cluster IPs, node ports |
//! | `completion` | the addresses and families that Services of earlier servers lack |
//! | `allocation`, `ranges` | cluster IPs and node ports that are given to Services, and the ranges they are from |
//! | `endpoints`, `proxy` | the Endpoints that are removed with a Service; the subresource `proxy` |
//!
//! The cases of the rules are in `resources/tests/rules/core/service.jsonl`.

pub(crate) mod allocation;
mod cluster_ips;
mod completion;
pub(crate) mod endpoints;
pub mod proxy;
mod ranges;
mod service_type;
mod strategy;
mod type_change;
mod validation;
mod warnings;

pub use allocation::{ServiceAllocation, SharedStore};
pub(crate) use ranges::family_of;
pub use ranges::{NodePortRange, PortRangeError, RangeError, RangesError, ServiceRange, ServiceRanges};
use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::Service;
use serde_json::Value;

use crate::support::printers;

/// `services` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Service,
    version = "v1",
    short("svc"),
    categories("all"),
    status,
    returns_deleted_object,
    selectable(spec.cluster_ip = "spec.clusterIP", spec.type_ = "spec.type"),
    columns = COLUMNS,
    create_on_update,
    names = DnsLabel,
    strategy = strategy::ServiceStrategy,
    subresource(proxy::ServiceProxy, verbs(connect)),
)]
pub struct Services;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Type", |object| printers::text(object, &["spec", "type"])).documented_by(&["spec", "type"]),
    Column::text("Cluster-IP", |object| printers::text_or(object, &["spec", "clusterIP"], "<none>"))
        .documented_by(&["spec", "clusterIP"]),
    Column::text("External-IP", external_addresses).documented_by(&["spec", "externalIPs"]),
    Column::text("Port(s)", ports).documented_by(&["spec", "ports"]),
    Column::AGE,
    Column::text("Selector", |object| printers::labels_text(Service(object).spec().selector().value()))
        .documented_by(&["spec", "selector"])
        .wide(),
];

/// Returns the addresses at which the service is reachable from outside the cluster.
fn external_addresses(object: &Object) -> Value {
    let mut addresses: Vec<&str> = Vec::new();
    let spec = Service(object).spec();
    let kind = spec.r#type().text();
    if kind == "ExternalName" {
        return printers::text(object, &["spec", "externalName"]);
    }
    if kind == "LoadBalancer" {
        addresses.extend(printers::balancer_addresses(object));
    }
    addresses.extend(spec.external_ips().texts());
    match (addresses.is_empty(), kind) {
        (true, "LoadBalancer") => "<pending>".into(),
        _ => printers::or_none(addresses.join(",")),
    }
}

/// Returns the ports: `80/TCP`, `80:30080/TCP`.
fn ports(object: &Object) -> Value {
    let spec = Service(object).spec();
    let ports = spec.ports();
    let shown = ports.elements().map(|port| {
        let protocol = port.protocol().optional_text().unwrap_or("TCP");
        let own = port.port().number().max(0);
        match port.node_port().number() {
            node_port if node_port > 0 => format!("{own}:{node_port}/{protocol}"),
            _ => format!("{own}/{protocol}"),
        }
    });
    printers::or_none(shown.collect::<Vec<_>>().join(","))
}
