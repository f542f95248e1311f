//! `apps/v1 StatefulSet`: StatefulSet represents a set of pods with consistent identities.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::cells;

/// `statefulsets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::StatefulSet,
    group = "apps",
    version = "v1",
    plural = "statefulsets",
    short("sts"),
    categories("all"),
    status,
    generation,
    storage_prefix = "statefulsets",
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    strategy = strategy::StatefulSetStrategy,
)]
pub struct StatefulSets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", ready).described("Number of the pod with ready state"),
    Column::AGE,
    Column::text("Containers", |object| cells::container_names(object, &["spec", "template", "spec"]))
        .described("Names of each container in the template.")
        .wide(),
    Column::text("Images", |object| cells::container_images(object, &["spec", "template", "spec"]))
        .described("Images referenced by each container in the template.")
        .wide(),
];

/// Ready of wanted replicas: `1/2`.
fn ready(object: &Object) -> Value {
    cells::share(object, &["status", "readyReplicas"], &["spec", "replicas"])
}
