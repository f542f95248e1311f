//! `storage.k8s.io/v1 VolumeAttachment`: the intent to attach a volume to a node, or to detach it.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `volumeattachments` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::VolumeAttachment,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1beta1", "storage.k8s.io/v1alpha1"),
    cluster,
    status,
    returns_deleted_object,
    columns = COLUMNS,
    unconditional_update = false,
    metadata_errors_once,
    reset_by_status(metadata),
    strategy = strategy::VolumeAttachmentStrategy,
)]
pub struct VolumeAttachments;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Attacher", |object| printers::text(object, &["spec", "attacher"]))
        .documented_by(&["spec", "attacher"])
        .as_name(),
    Column::text("PV", |object| printers::text(object, &["spec", "source", "persistentVolumeName"]))
        .documented_by(&["spec", "source", "persistentVolumeName"]),
    Column::text("Node", |object| printers::text(object, &["spec", "nodeName"]))
        .documented_by(&["spec", "nodeName"]),
    Column::boolean("Attached", |object| printers::flag(object, &["status", "attached"]))
        .documented_by(&["status", "attached"]),
    Column::AGE,
];
