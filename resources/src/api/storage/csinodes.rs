//! `storage.k8s.io/v1 CSINode`: CSINode holds information about all CSI drivers installed on a node.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `csinodes` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::CSINode,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1beta1"),
    cluster,
    returns_deleted_object,
    columns = COLUMNS,
    unconditional_update = false,
    strategy = strategy::CSINodeStrategy,
)]
pub struct CSINodes;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Drivers", |object| printers::count(object, &["spec", "drivers"]))
        .described("Drivers indicates the number of CSI drivers registered on the node"),
    Column::AGE,
];
