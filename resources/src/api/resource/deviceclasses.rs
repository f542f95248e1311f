//! `resource.k8s.io/v1 DeviceClass`: a configuration and selectors of devices, which claims refer to.

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
    introduced = "1.34",
    cluster,
    generation,
    returns_deleted_object,
    strategy = strategy::DeviceClassStrategy,
)]
pub struct DeviceClasses;
