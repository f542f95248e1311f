//! `apps/v1 StatefulSet`: StatefulSet represents a set of pods with consistent identities.

mod strategy;
mod template;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers::workload;

/// `statefulsets` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::StatefulSet,
    group = "apps",
    version = "v1",
    retired("apps/v1beta2", "apps/v1beta1" => super::retired::renew_stateful_set),
    short("sts"),
    categories("all"),
    status,
    generation,
    scale(replicas = spec.replicas, current = status.replicas, selector = spec.selector),
    columns = COLUMNS,
    // The names of its pods begin with the name of the set.
    names = DnsLabel,
    strategy = strategy::StatefulSetStrategy,
)]
pub struct StatefulSets;

static COLUMNS: &[Column] =
    &[Column::NAME, workload::READY_OF_DESIRED, Column::AGE, workload::CONTAINERS, workload::IMAGES];
