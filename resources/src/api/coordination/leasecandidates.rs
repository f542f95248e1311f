//! `coordination.k8s.io/v1beta1 LeaseCandidate`: a process that can become the leader of a coordinated election.

mod strategy;
pub mod v1alpha2;

use registry_derive::Resource;

/// `leasecandidates` of `coordination.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1beta1::LeaseCandidate,
    group = "coordination.k8s.io",
    version = "v1beta1",
    introduced = "1.33",
    off_by_default,
    column("LeaseName", spec.lease_name),
    column("BinaryVersion", spec.binary_version, description = ""),
    column("EmulationVersion", spec.emulation_version, description = ""),
    unconditional_update = false,
    create_on_update,
    plain_finalizers,
    metadata_errors_once,
    names = Any,
    deprecated = "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
    strategy = strategy::LeaseCandidateStrategy,
)]
pub struct LeaseCandidates;
