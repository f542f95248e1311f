//! `storage.k8s.io/v1 CSIStorageCapacity`: CSIStorageCapacity stores the result of one CSI GetCapacity call.

mod strategy;

use registry_derive::Resource;

use crate::support::printers;

/// `csistoragecapacities` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::CSIStorageCapacity,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1beta1", "storage.k8s.io/v1alpha1"),
    columns = printers::NAME_AND_CREATED_AT,
    unconditional_update = false,
    strategy = strategy::CSIStorageCapacityStrategy,
)]
pub struct CSIStorageCapacities;
