//! `storage.k8s.io/v1 VolumeAttributesClass`: VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver.

mod strategy;
pub mod v1beta1;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `volumeattributesclasses` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::VolumeAttributesClass,
    group = "storage.k8s.io",
    version = "v1",
    plural = "volumeattributesclasses",
    short("vac"),
    cluster,
    returns_deleted_object,
    storage_prefix = "volumeattributesclasses",
    columns = COLUMNS,
    strategy = strategy::VolumeAttributesClassStrategy,
)]
pub struct VolumeAttributesClasses;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("DriverName", |object| printers::text(object, &["driverName"]))
        .documented_by(&["driverName"]),
    Column::AGE,
];
