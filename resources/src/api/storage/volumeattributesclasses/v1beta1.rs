//! `storage.k8s.io/v1beta1 VolumeAttributesClass`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::VolumeAttributesClasses;

/// `volumeattributesclasses` of `storage.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1beta1::VolumeAttributesClass,
    group = "storage.k8s.io",
    version = "v1beta1",
    off_by_default,
    short("vac"),
    cluster,
    returns_deleted_object,
    hub = VolumeAttributesClasses,
    same_fields,
    deprecated = "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass",
    column("DriverName", driver_name),
)]
pub struct VolumeAttributesClassesV1beta1;
