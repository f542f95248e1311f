//! `scheduling.k8s.io/v1alpha2 PodGroup`: pods that are scheduled together.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::scheduling::v1alpha2::PodGroup;
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

/// `podgroups` of `scheduling.k8s.io/v1alpha2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::scheduling::v1alpha2::PodGroup,
    group = "scheduling.k8s.io",
    version = "v1alpha2",
    off_by_default,
    feature_gate = GenericWorkload,
    status,
    columns = COLUMNS,
    reset_by_status(metadata),
    strategy = strategy::PodGroupStrategy,
)]
pub struct PodGroups;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Policy", policy).documented_by(&["spec", "schedulingPolicy"]),
    Column::text("Workload", workload).described("Name of the referenced Workload object"),
    Column::text("Status", status).described("Status of the PodGroup"),
    Column::AGE,
];

fn policy(object: &Object) -> Value {
    let is_gang = PodGroup(object).spec().scheduling_policy().gang().exists();
    if is_gang { "Gang".into() } else { "Basic".into() }
}

fn workload(object: &Object) -> Value {
    printers::text_or(object, &["spec", "podGroupTemplateRef", "workload", "workloadName"], "<none>")
}

/// Returns whether the group is scheduled, or why it is disrupted.
fn status(object: &Object) -> Value {
    if let Some(disrupted) = conditions::find(object, "DisruptionTarget") {
        return disrupted.reason().text().into();
    }
    match conditions::find(object, "PodGroupScheduled") {
        Some(scheduled) if scheduled.status().text() == "True" => "Scheduled".into(),
        Some(_) => "Unschedulable".into(),
        None => "Pending".into(),
    }
}
