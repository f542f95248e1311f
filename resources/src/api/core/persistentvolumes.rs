//! `v1 PersistentVolume`: PersistentVolume (PV) is a storage resource provisioned by an administrator.

pub(crate) mod sources;
pub(crate) mod spec;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::PersistentVolume;
use serde_json::Value;

use crate::api::core::volume_claim;
use crate::support::printers::{self, volume};

/// `persistentvolumes` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::PersistentVolume,
    version = "v1",
    short("pv"),
    cluster,
    status,
    returns_deleted_object,
    columns = COLUMNS,
    metadata_errors_once,
    strategy = strategy::PersistentVolumeStrategy,
)]
pub struct PersistentVolumes;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Capacity", |object| printers::text(object, &["spec", "capacity", "storage"]))
        .documented_by(&["spec", "capacity"]),
    Column::text("Access Modes", |object| printers::access_modes(object, &["spec", "accessModes"]))
        .documented_by(&["spec", "accessModes"]),
    Column::text("Reclaim Policy", |object| {
        printers::text(object, &["spec", "persistentVolumeReclaimPolicy"])
    })
    .documented_by(&["spec", "persistentVolumeReclaimPolicy"]),
    volume::STATUS,
    Column::text("Claim", claim).documented_by(&["spec", "claimRef"]),
    Column::text("StorageClass", volume_claim::storage_class).described("StorageClass of the pv"),
    Column::text("VolumeAttributesClass", |object| {
        printers::text_or(object, &["spec", "volumeAttributesClassName"], "<unset>")
    })
    .described("VolumeAttributesClass of the pv"),
    Column::text("Reason", |object| printers::text(object, &["status", "reason"]))
        .documented_by(&["status", "reason"]),
    Column::AGE,
    volume::VOLUME_MODE,
];

/// Returns the claim that it is bound to, as `namespace/name`.
fn claim(object: &Object) -> Value {
    let spec = PersistentVolume(object).spec();
    let claim = spec.claim_ref();
    match (claim.namespace().optional_text(), claim.name().optional_text()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        _ => "".into(),
    }
}
