//! `apps/v1 DaemonSet`: DaemonSet represents the configuration of a daemon set.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::cells;

/// `daemonsets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::DaemonSet,
    group = "apps",
    version = "v1",
    plural = "daemonsets",
    short("ds"),
    categories("all"),
    status,
    generation,
    storage_prefix = "daemonsets",
    columns = COLUMNS,
    strategy = strategy::DaemonSetStrategy,
)]
pub struct DaemonSets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Desired", |object| cells::number(object, &["status", "desiredNumberScheduled"])),
    Column::integer("Current", |object| cells::number(object, &["status", "currentNumberScheduled"])),
    Column::integer("Ready", |object| cells::number(object, &["status", "numberReady"])),
    Column::integer("Up-to-date", |object| cells::number(object, &["status", "updatedNumberScheduled"])),
    Column::integer("Available", |object| cells::number(object, &["status", "numberAvailable"])),
    Column::text("Node Selector", |object| {
        cells::labels_text(object.get(&["spec", "template", "spec", "nodeSelector"]))
    }),
    Column::AGE,
    Column::text("Containers", |object| cells::container_names(object, &["spec", "template", "spec"])).wide(),
    Column::text("Images", |object| cells::container_images(object, &["spec", "template", "spec"])).wide(),
    Column::text("Selector", |object| cells::label_selector(object, &["spec", "selector"])).wide(),
];
