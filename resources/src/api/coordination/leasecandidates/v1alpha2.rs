//! `coordination.k8s.io/v1alpha2 LeaseCandidate`: the fields of `v1beta1`, as which it is stored.

use registry_derive::Resource;

use super::LeaseCandidates;

/// `leasecandidates` of `coordination.k8s.io/v1alpha2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1alpha2::LeaseCandidate,
    group = "coordination.k8s.io",
    version = "v1alpha2",
    off_by_default,
    hub = LeaseCandidates,
    same_fields,
    deprecated = "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
    column("LeaseName", spec.lease_name),
    column("BinaryVersion", spec.binary_version, description = ""),
    column("EmulationVersion", spec.emulation_version, description = ""),
)]
pub struct LeaseCandidatesV1alpha2;
