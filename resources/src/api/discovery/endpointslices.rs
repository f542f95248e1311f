//! `discovery.k8s.io/v1 EndpointSlice`: EndpointSlice represents a set of service endpoints.

mod endpoints;
mod retired;
mod strategy;
mod topology;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::discovery::v1::EndpointSlice;
use serde_json::Value;

use crate::support::printers;

/// `endpointslices` of `discovery.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::discovery::v1::EndpointSlice,
    group = "discovery.k8s.io",
    version = "v1",
    retired("discovery.k8s.io/v1beta1" => retired::renew),
    generation,
    columns = COLUMNS,
    metadata_errors_once,
    strategy = strategy::EndpointSliceStrategy,
)]
pub struct EndpointSlices;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("AddressType", |object| printers::text(object, &["addressType"]))
        .documented_by(&["addressType"]),
    Column::text("Ports", ports).documented_by(&["ports"]),
    Column::text("Endpoints", endpoints).documented_by(&["endpoints"]),
    Column::AGE,
];

/// Returns the first ports.
fn ports(object: &Object) -> Value {
    let ports = EndpointSlice(object).ports();
    let shown = ports.elements().map(|port| match port.port().integer() {
        Some(number) => number.to_string(),
        None => port.name().optional_text().unwrap_or("*").to_owned(),
    });
    let shown: Vec<String> = shown.collect();
    printers::first_three(&shown, "<unset>")
}

/// Returns the first addresses.
fn endpoints(object: &Object) -> Value {
    let endpoints = EndpointSlice(object).endpoints();
    let addresses = endpoints.elements().flat_map(|endpoint| endpoint.addresses().texts());
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    printers::first_three(&addresses, "<unset>")
}
