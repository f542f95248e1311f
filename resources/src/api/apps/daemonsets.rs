//! `apps/v1 DaemonSet`: DaemonSet represents the configuration of a daemon set.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::apps::v1::DaemonSet;

use crate::support::printers::{self, workload};

/// `daemonsets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::DaemonSet,
    group = "apps",
    version = "v1",
    retired("apps/v1beta2", "extensions/v1beta1" => super::retired::renew_daemon_set),
    short("ds"),
    categories("all"),
    status,
    generation,
    columns = COLUMNS,
    strategy = strategy::DaemonSetStrategy,
)]
pub struct DaemonSets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Desired", |object| printers::number(object, &["status", "desiredNumberScheduled"]))
        .documented_by(&["status", "desiredNumberScheduled"]),
    Column::integer("Current", |object| printers::number(object, &["status", "currentNumberScheduled"]))
        .documented_by(&["status", "currentNumberScheduled"]),
    Column::integer("Ready", |object| printers::number(object, &["status", "numberReady"]))
        .documented_by(&["status", "numberReady"]),
    Column::integer("Up-to-date", |object| printers::number(object, &["status", "updatedNumberScheduled"]))
        .documented_by(&["status", "updatedNumberScheduled"]),
    Column::integer("Available", |object| printers::number(object, &["status", "numberAvailable"]))
        .documented_by(&["status", "numberAvailable"]),
    Column::text("Node Selector", |object| {
        printers::labels_text(DaemonSet(object).spec().template().spec().node_selector().value())
    })
    .documented_by(&["spec", "template", "spec", "nodeSelector"]),
    Column::AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];
