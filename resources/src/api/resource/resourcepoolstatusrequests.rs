//! `resource.k8s.io/v1alpha3 ResourcePoolStatusRequest`: asks once how many devices the pools of a driver have left.

mod printers;
mod strategy;

use registry_derive::Resource;

/// `resourcepoolstatusrequests` of `resource.k8s.io/v1alpha3`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1alpha3::ResourcePoolStatusRequest,
    group = "resource.k8s.io",
    version = "v1alpha3",
    introduced = "1.36",
    off_by_default,
    cluster,
    status,
    columns = printers::COLUMNS,
    unconditional_update = false,
    reset_by_status(metadata),
    strategy = strategy::ResourcePoolStatusRequestStrategy,
)]
pub struct ResourcePoolStatusRequests;
