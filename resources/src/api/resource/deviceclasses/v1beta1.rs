//! `resource.k8s.io/v1beta1 DeviceClass`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::DeviceClasses;

/// `deviceclasses` of `resource.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta1::DeviceClass,
    group = "resource.k8s.io",
    version = "v1beta1",
    off_by_default,
    cluster,
    returns_deleted_object,
    hub = DeviceClasses,
    same_fields,
    deprecated = "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
)]
pub struct DeviceClassesV1beta1;
