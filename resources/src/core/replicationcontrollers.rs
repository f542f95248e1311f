//! `v1 ReplicationController`: ReplicationController represents the configuration of a replication controller.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::cells;

/// `replicationcontrollers` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ReplicationController,
    version = "v1",
    plural = "replicationcontrollers",
    short("rc"),
    categories("all"),
    status,
    generation,
    storage_prefix = "controllers",
    selectable(status.replicas),
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::ReplicationControllerStrategy,
)]
pub struct ReplicationControllers;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Desired", |object| cells::number(object, &["spec", "replicas"]))
        .documented_by(&["spec", "replicas"]),
    Column::integer("Current", |object| cells::number(object, &["status", "replicas"]))
        .documented_by(&["status", "replicas"]),
    Column::integer("Ready", |object| cells::number(object, &["status", "readyReplicas"]))
        .documented_by(&["status", "readyReplicas"]),
    Column::AGE,
    Column::text("Containers", |object| cells::container_names(object, &["spec", "template", "spec"]))
        .described("Names of each container in the template.")
        .wide(),
    Column::text("Images", |object| cells::container_images(object, &["spec", "template", "spec"]))
        .described("Images referenced by each container in the template.")
        .wide(),
    Column::text("Selector", |object| cells::labels_text(object.get(&["spec", "selector"])))
        .documented_by(&["spec", "selector"])
        .wide(),
];
