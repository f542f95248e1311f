//! `resource.k8s.io/v1beta2 DeviceClass`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::DeviceClasses;

/// `deviceclasses` of `resource.k8s.io/v1beta2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta2::DeviceClass,
    group = "resource.k8s.io",
    version = "v1beta2",
    introduced = "1.33",
    off_by_default,
    cluster,
    returns_deleted_object,
    hub = DeviceClasses,
    same_fields,
    deprecated = "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+",
)]
pub struct DeviceClassesV1beta2;
