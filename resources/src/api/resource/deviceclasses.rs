//! `resource.k8s.io/v1 DeviceClass`: DeviceClass is a vendor- or admin-provided resource that contains device configuration and selectors.

mod strategy;
pub mod v1beta1;
pub mod v1beta2;

use registry_derive::Resource;

/// `deviceclasses` of `resource.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1::DeviceClass,
    group = "resource.k8s.io",
    version = "v1",
    plural = "deviceclasses",
    introduced = "1.34",
    cluster,
    generation,
    returns_deleted_object,
    storage_prefix = "deviceclasses",
    strategy = strategy::DeviceClassStrategy,
)]
pub struct DeviceClasses;
