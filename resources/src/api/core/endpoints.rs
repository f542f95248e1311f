//! `v1 Endpoints`: Endpoints is a collection of endpoints that implement the actual service.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1 as views;
use serde_json::Value;

use crate::support::printers;

/// `endpoints` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Endpoints,
    version = "v1",
    short("ep"),
    columns = COLUMNS,
    create_on_update,
    deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    strategy = strategy::EndpointsStrategy,
)]
pub struct Endpoints;

static COLUMNS: &[Column] =
    &[Column::NAME, Column::text("Endpoints", addresses).documented_by(&["subsets"]), Column::AGE];

/// Returns the first addresses with their ports: `10.0.0.1:80,10.0.0.2:80 + 3 more...`.
fn addresses(object: &Object) -> Value {
    let subsets = views::Endpoints(object).subsets();
    let mut all = Vec::new();
    for subset in subsets.elements() {
        let addresses = subset.addresses();
        let ips: Vec<&str> = addresses.elements().map(|address| address.ip().text()).collect();
        if subset.ports().is_empty() {
            all.extend(ips.iter().map(|ip| (*ip).to_owned()));
        }
        for port in subset.ports().elements() {
            let number = port.port().number();
            all.extend(ips.iter().map(|ip| {
                if ip.contains(':') { format!("[{ip}]:{number}") } else { format!("{ip}:{number}") }
            }));
        }
    }
    // The addresses of a subset can all be such that are not ready.
    printers::first_three(&all, if subsets.is_empty() { "<none>" } else { "" })
}
