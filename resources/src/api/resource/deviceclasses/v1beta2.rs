//! `resource.k8s.io/v1beta2 DeviceClass`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::DeviceClasses;
use super::strategy::DeviceClassStrategy;
use crate::support::older_version::{older_version, same_fields};

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
    strategy = DeviceClassVersion,
)]
pub struct DeviceClassesV1beta2;

older_version!(DeviceClassVersion, stored with DeviceClassStrategy, "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+");

same_fields!(DeviceClassesV1beta2, stored as DeviceClasses);
