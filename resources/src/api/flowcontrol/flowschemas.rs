//! `flowcontrol.apiserver.k8s.io/v1 FlowSchema`: FlowSchema defines the schema of a group of flows.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

/// `flowschemas` of `flowcontrol.apiserver.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::flowcontrol::v1::FlowSchema,
    group = "flowcontrol.apiserver.k8s.io",
    version = "v1",
    retired("flowcontrol.apiserver.k8s.io/v1beta3", "flowcontrol.apiserver.k8s.io/v1beta2", "flowcontrol.apiserver.k8s.io/v1beta1"),
    cluster,
    status,
    generation,
    columns = COLUMNS,
    metadata_errors_once,
    reset_by_status(metadata),
    strategy = strategy::FlowSchemaStrategy,
)]
pub struct FlowSchemas;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PriorityLevel", |object| {
        printers::text(object, &["spec", "priorityLevelConfiguration", "name"])
    })
    .documented_by(&["spec", "priorityLevelConfiguration", "name"]),
    Column::text("MatchingPrecedence", |object| printers::number(object, &["spec", "matchingPrecedence"]))
        .documented_by(&["spec", "matchingPrecedence"]),
    Column::text("DistinguisherMethod", |object| {
        printers::text_or(object, &["spec", "distinguisherMethod", "type"], "<none>")
    })
    .documented_by(&["spec", "distinguisherMethod"]),
    Column::AGE,
    Column::text("MissingPL", missing_priority_level)
        .described("references a broken or non-existent PriorityLevelConfiguration"),
];

/// Returns whether the priority level is missing: `True`, `False`, `?`.
fn missing_priority_level(object: &Object) -> Value {
    conditions::find(object, "Dangling").map_or("?", |condition| condition.status().text()).into()
}
