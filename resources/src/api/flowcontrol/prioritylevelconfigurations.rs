//! `flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration`: the share of a priority level.

mod retired;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::flowcontrol::v1::PriorityLevelConfiguration;
use serde_json::Value;

use crate::support::printers;

/// `prioritylevelconfigurations` of `flowcontrol.apiserver.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration,
    group = "flowcontrol.apiserver.k8s.io",
    version = "v1",
    retired(
        "flowcontrol.apiserver.k8s.io/v1beta3" => retired::renew,
        "flowcontrol.apiserver.k8s.io/v1beta2" => retired::rename_shares,
        "flowcontrol.apiserver.k8s.io/v1beta1" => retired::rename_shares,
    ),
    cluster,
    status,
    generation,
    columns = COLUMNS,
    metadata_errors_once,
    reset_by_status(metadata),
    strategy = strategy::PriorityLevelStrategy,
)]
pub struct PriorityLevelConfigurations;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Type", |object| printers::text(object, &["spec", "type"])).documented_by(&["spec", "type"]),
    Column::text("NominalConcurrencyShares", shares).documented_by(&[
        "spec",
        "limited",
        "nominalConcurrencyShares",
    ]),
    Column::text("Queues", |object| queuing(object, "queues")).documented_by(&[
        "spec",
        "limited",
        "limitResponse",
        "queuing",
        "queues",
    ]),
    Column::text("HandSize", |object| queuing(object, "handSize")).documented_by(&[
        "spec",
        "limited",
        "limitResponse",
        "queuing",
        "handSize",
    ]),
    Column::text("QueueLengthLimit", |object| queuing(object, "queueLengthLimit")).documented_by(&[
        "spec",
        "limited",
        "limitResponse",
        "queuing",
        "queueLengthLimit",
    ]),
    Column::AGE,
];

/// Returns the concurrency shares of a limited level. Kubernetes does not show those of an exempt one.
fn shares(object: &Object) -> Value {
    let spec = PriorityLevelConfiguration(object).spec();
    let shares = spec.limited().nominal_concurrency_shares().value();
    shares.cloned().unwrap_or_else(|| "<none>".into())
}

/// Returns a number of the queuing configuration.
fn queuing(object: &Object, field: &str) -> Value {
    let path = ["spec", "limited", "limitResponse", "queuing", field];
    object.get(&path).cloned().unwrap_or_else(|| "<none>".into())
}
