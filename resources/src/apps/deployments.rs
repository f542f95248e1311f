//! `apps/v1 Deployment`: Deployment enables declarative updates for Pods and ReplicaSets.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::cells;

/// `deployments` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::Deployment,
    group = "apps",
    version = "v1",
    plural = "deployments",
    short("deploy"),
    categories("all"),
    status,
    generation,
    storage_prefix = "deployments",
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::DeploymentStrategy,
)]
pub struct Deployments;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", ready).described("Number of the pod with ready state"),
    Column::text("Up-to-date", |object| cells::number(object, &["status", "updatedReplicas"]))
        .documented_by(&["status", "updatedReplicas"]),
    Column::text("Available", |object| cells::number(object, &["status", "availableReplicas"]))
        .documented_by(&["status", "availableReplicas"]),
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

/// Ready of wanted replicas: `1/2`.
fn ready(object: &Object) -> Value {
    cells::share(object, &["status", "readyReplicas"], &["spec", "replicas"])
}
