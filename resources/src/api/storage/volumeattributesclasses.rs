//! `storage.k8s.io/v1 VolumeAttributesClass`: VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver.

mod strategy;
pub mod v1beta1;

use registry_derive::Resource;

/// `volumeattributesclasses` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::VolumeAttributesClass,
    group = "storage.k8s.io",
    version = "v1",
    plural = "volumeattributesclasses",
    introduced = "1.34",
    short("vac"),
    cluster,
    returns_deleted_object,
    storage_prefix = "volumeattributesclasses",
    column("DriverName", driver_name),
    strategy = strategy::VolumeAttributesClassStrategy,
)]
pub struct VolumeAttributesClasses;
