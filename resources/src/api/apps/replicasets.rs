//! `apps/v1 ReplicaSet`: ReplicaSet ensures that a specified number of pod replicas are running at any given time.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers::workload;

/// `replicasets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::ReplicaSet,
    group = "apps",
    version = "v1",
    retired("apps/v1beta2", "extensions/v1beta1" => super::retired::label_like_template),
    short("rs"),
    categories("all"),
    status,
    generation,
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::ReplicaSetStrategy,
)]
pub struct ReplicaSets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    workload::DESIRED,
    workload::CURRENT,
    workload::READY,
    Column::AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];
