//! `apps/v1 Deployment`: Deployment enables declarative updates for Pods and ReplicaSets.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers::{self, workload};

/// `deployments` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::Deployment,
    group = "apps",
    version = "v1",
    retired(
        "apps/v1beta2",
        "apps/v1beta1" => super::retired::renew_deployment,
        "extensions/v1beta1" => super::retired::renew_deployment_of_extensions,
    ),
    short("deploy"),
    categories("all"),
    status,
    generation,
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    reset_by_status(metadata.labels),
    strategy = strategy::DeploymentStrategy,
)]
pub struct Deployments;

static COLUMNS: &[Column] = &[
    Column::NAME,
    workload::READY_OF_DESIRED,
    Column::text("Up-to-date", |object| printers::number(object, &["status", "updatedReplicas"]))
        .documented_by(&["status", "updatedReplicas"]),
    Column::text("Available", |object| printers::number(object, &["status", "availableReplicas"]))
        .documented_by(&["status", "availableReplicas"]),
    Column::AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];
