//! `v1 Service`: Service is a named abstraction of software service (for example, mysql) consisting of local port (for example 3306) that the proxy listens on, and the selector that determines which pods will answer requests sent through the proxy.

mod addresses;
pub(crate) mod allocation;
mod choice;
mod claim;
mod cluster_ips;
mod families;
mod feed;
mod holder;
mod node_ports;
mod older;
mod port_claims;
mod port_range;
pub mod proxy;
mod range;
mod ranges;
pub(crate) mod repair;
mod service_type;
mod strategy;
mod supply;
mod taken;
#[cfg(test)]
mod tests;
mod transitions;
mod validation;
mod warnings;

pub use allocation::ServiceAllocation;
pub use port_claims::SharedStore;
pub use port_range::{NodePortRange, PortRangeError};
pub(crate) use range::family_of;
pub use range::{RangeError, ServiceRange};
pub use ranges::{RangesError, ServiceRanges};

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `services` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Service,
    version = "v1",
    plural = "services",
    short("svc"),
    categories("all"),
    status,
    returns_deleted_object,
    storage_prefix = "services/specs",
    selectable(spec.cluster_ip = "spec.clusterIP", spec.type_ = "spec.type"),
    columns = COLUMNS,
    create_on_update,
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
    Column::text("Selector", |object| printers::labels_text(object.get(&["spec", "selector"])))
        .documented_by(&["spec", "selector"])
        .wide(),
];

/// Returns the addresses at which the service is reachable from outside the cluster.
fn external_addresses(object: &Object) -> Value {
    let mut addresses: Vec<&str> = Vec::new();
    let kind = object.get_str(&["spec", "type"]).unwrap_or_default();
    if kind == "ExternalName" {
        return printers::text(object, &["spec", "externalName"]);
    }
    if kind == "LoadBalancer" {
        let ingress = printers::elements(object, &["status", "loadBalancer", "ingress"]);
        let own = ingress.filter_map(|entry| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str());
        addresses.extend(own);
    }
    addresses.extend(printers::elements(object, &["spec", "externalIPs"]).filter_map(Value::as_str));
    match (addresses.is_empty(), kind) {
        (true, "LoadBalancer") => "<pending>".into(),
        _ => printers::or_none(addresses.join(",")),
    }
}

/// Returns the ports: `80/TCP`, `80:30080/TCP`.
fn ports(object: &Object) -> Value {
    let shown = printers::elements(object, &["spec", "ports"]).map(|port| {
        let number = |field: &str| port.get(field).and_then(Value::as_i64).filter(|number| *number > 0);
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        let own = number("port").unwrap_or_default();
        match number("nodePort") {
            Some(node_port) => format!("{own}:{node_port}/{protocol}"),
            None => format!("{own}/{protocol}"),
        }
    });
    printers::or_none(shown.collect::<Vec<_>>().join(","))
}
