//! `networking.k8s.io/v1 ServiceCIDR`: ranges that the addresses of services are allocated from.

mod strategy;
pub mod v1beta1;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::networking::v1::ServiceCIDR;
use serde_json::Value;

/// `servicecidrs` of `networking.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1::ServiceCIDR,
    group = "networking.k8s.io",
    version = "v1",
    introduced = "1.33",
    cluster,
    status,
    columns = COLUMNS,
    reset_by_status(metadata),
    strategy = strategy::ServiceCIDRStrategy,
)]
pub struct ServiceCIDRs;

static COLUMNS: &[Column] =
    &[Column::NAME, Column::text("CIDRs", cidrs).documented_by(&["spec", "cidrs"]), Column::AGE];

/// Returns the ranges, separated by commas.
fn cidrs(object: &Object) -> Value {
    ServiceCIDR(object).spec().cidrs().texts().collect::<Vec<_>>().join(",").into()
}
