//! `resource.k8s.io/v1 ResourceSlice`: the devices of a driver in a pool.

mod strategy;
pub mod v1beta1;
pub mod v1beta2;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `resourceslices` of `resource.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1::ResourceSlice,
    group = "resource.k8s.io",
    version = "v1",
    introduced = "1.34",
    cluster,
    generation,
    returns_deleted_object,
    selectable(spec.node_name, spec.driver),
    columns = COLUMNS,
    strategy = strategy::ResourceSliceStrategy,
)]
pub struct ResourceSlices;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Node", |object| printers::text(object, &["spec", "nodeName"]))
        .documented_by(&["spec", "nodeName"]),
    Column::text("Driver", |object| printers::text(object, &["spec", "driver"]))
        .documented_by(&["spec", "driver"]),
    Column::text("Pool", |object| printers::text(object, &["spec", "pool", "name"]))
        .documented_by(&["spec", "pool", "name"]),
    Column::AGE,
];
