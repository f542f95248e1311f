//! `v1 PersistentVolumeClaim`: PersistentVolumeClaim is a user's request for and claim to a persistent volume.

mod sources;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::PersistentVolumeClaim;
use serde_json::Value;

use crate::api::core::volume_claim;
use crate::support::printers::{self, volume};

/// `persistentvolumeclaims` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::PersistentVolumeClaim,
    version = "v1",
    short("pvc"),
    status,
    returns_deleted_object,
    columns = COLUMNS,
    strategy = strategy::PersistentVolumeClaimStrategy,
)]
pub struct PersistentVolumeClaims;

static COLUMNS: &[Column] = &[
    Column::NAME,
    volume::STATUS,
    Column::text("Volume", |object| printers::text(object, &["spec", "volumeName"]))
        .documented_by(&["spec", "volumeName"]),
    Column::text("Capacity", capacity).documented_by(&["status", "capacity"]),
    Column::text("Access Modes", access_modes).documented_by(&["status", "accessModes"]),
    Column::text("StorageClass", volume_claim::storage_class).described("StorageClass of the pvc"),
    Column::text("VolumeAttributesClass", |object| {
        printers::text_if_set(object, &["spec", "volumeAttributesClassName"], "<unset>")
    })
    .described("VolumeAttributesClass of the pvc"),
    Column::AGE,
    volume::VOLUME_MODE,
];

fn is_bound(object: &Object) -> bool {
    PersistentVolumeClaim(object)
        .spec()
        .volume_name()
        .optional_text()
        .is_some_and(|volume| !volume.is_empty())
}

/// Returns the capacity; empty before the claim is bound.
fn capacity(object: &Object) -> Value {
    if !is_bound(object) {
        return "".into();
    }
    printers::text_or(object, &["status", "capacity", "storage"], "0")
}

/// Returns the access modes; empty before the claim is bound.
fn access_modes(object: &Object) -> Value {
    if !is_bound(object) {
        return "".into();
    }
    printers::access_modes(object, &["status", "accessModes"])
}
