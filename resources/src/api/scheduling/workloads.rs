//! `scheduling.k8s.io/v1alpha2 Workload`: the templates of the groups of pods that are scheduled together.

mod strategy;

use registry_derive::Resource;

/// `workloads` of `scheduling.k8s.io/v1alpha2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::scheduling::v1alpha2::Workload,
    group = "scheduling.k8s.io",
    version = "v1alpha2",
    off_by_default,
    feature_gate = GenericWorkload,
    strategy = strategy::WorkloadStrategy,
)]
pub struct Workloads;
