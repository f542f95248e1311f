//! `policy/v1 PodDisruptionBudget`: how many of a set of pods may be evicted at once.

mod retired;
mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `poddisruptionbudgets` of `policy/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::policy::v1::PodDisruptionBudget,
    group = "policy",
    version = "v1",
    retired("policy/v1beta1" => retired::renew),
    short("pdb"),
    status,
    generation,
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    names = PathSegment,
    strategy = strategy::PodDisruptionBudgetStrategy,
)]
pub struct PodDisruptionBudgets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Min Available", |object| printers::text_or(object, &["spec", "minAvailable"], "N/A"))
        .described("The minimum number of pods that must be available."),
    Column::text("Max Unavailable", |object| printers::text_or(object, &["spec", "maxUnavailable"], "N/A"))
        .described("The maximum number of pods that may be unavailable."),
    Column::integer("Allowed Disruptions", |object| {
        printers::number(object, &["status", "disruptionsAllowed"])
    })
    .described("Calculated number of pods that may be disrupted at this time."),
    Column::AGE,
];
