//! `coordination.k8s.io/v1 Lease`: Lease defines a lease concept.

mod strategy;

use registry_derive::Resource;

/// `leases` of `coordination.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1::Lease,
    group = "coordination.k8s.io",
    version = "v1",
    retired("coordination.k8s.io/v1beta1"),
    column("Holder", spec.holder_identity),
    unconditional_update = false,
    create_on_update,
    plain_finalizers,
    strategy = strategy::LeaseStrategy,
)]
pub struct Leases;
