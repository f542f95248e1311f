//! `v1 LimitRange`: LimitRange sets resource usage limits for each kind of resource in a Namespace.

mod strategy;

use registry_derive::Resource;

use crate::support::printers;

/// `limitranges` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::LimitRange,
    version = "v1",
    short("limits"),
    columns = printers::NAME_AND_CREATED_AT,
    create_on_update,
    metadata_errors_once,
    strategy = strategy::LimitRangeStrategy,
)]
pub struct LimitRanges;
