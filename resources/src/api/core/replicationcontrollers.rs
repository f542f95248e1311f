//! `v1 ReplicationController`: ReplicationController represents the configuration of a replication controller.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::ReplicationController;

use crate::support::printers::{self, workload};

/// `replicationcontrollers` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ReplicationController,
    version = "v1",
    short("rc"),
    categories("all"),
    status,
    generation,
    selectable(status.replicas),
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::ReplicationControllerStrategy,
)]
pub struct ReplicationControllers;

static COLUMNS: &[Column] = &[
    Column::NAME,
    workload::DESIRED,
    workload::CURRENT,
    workload::READY,
    Column::AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    Column::text("Selector", |object| {
        printers::labels_text(ReplicationController(object).spec().selector().value())
    })
    .documented_by(&["spec", "selector"])
    .wide(),
];
