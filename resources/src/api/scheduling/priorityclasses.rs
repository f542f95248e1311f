//! `scheduling.k8s.io/v1 PriorityClass`: PriorityClass defines mapping from a priority class name to the priority integer value.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `priorityclasses` of `scheduling.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::scheduling::v1::PriorityClass,
    group = "scheduling.k8s.io",
    version = "v1",
    retired("scheduling.k8s.io/v1beta1"),
    short("pc"),
    cluster,
    columns = COLUMNS,
    strategy = strategy::PriorityClassStrategy,
)]
pub struct PriorityClasses;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Value", |object| printers::number(object, &["value"])).documented_by(&["value"]),
    Column::boolean("Global-Default", |object| printers::flag(object, &["globalDefault"]))
        .documented_by(&["globalDefault"]),
    Column::AGE,
    Column::text("PreemptionPolicy", |object| printers::text(object, &["preemptionPolicy"]))
        .documented_by(&["preemptionPolicy"]),
];
