//! `storage.k8s.io/v1 VolumeAttributesClass`: attributes of volumes of a driver that can change.

mod strategy;
pub mod v1beta1;

use registry_derive::Resource;

/// `volumeattributesclasses` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::VolumeAttributesClass,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1alpha1"),
    introduced = "1.34",
    short("vac"),
    cluster,
    returns_deleted_object,
    column("DriverName", driver_name),
    strategy = strategy::VolumeAttributesClassStrategy,
)]
pub struct VolumeAttributesClasses;
