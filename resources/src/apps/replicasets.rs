//! `apps/v1 ReplicaSet`: ReplicaSet ensures that a specified number of pod replicas are running at any given time.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::cells;

/// `replicasets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::ReplicaSet,
    group = "apps",
    version = "v1",
    plural = "replicasets",
    short("rs"),
    categories("all"),
    status,
    generation,
    storage_prefix = "replicasets",
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::ReplicaSetStrategy,
)]
pub struct ReplicaSets;

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
    Column::text("Selector", |object| cells::label_selector(object, &["spec", "selector"]))
        .documented_by(&["spec", "selector"])
        .wide(),
];
