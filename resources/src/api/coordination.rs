//! The resources of `coordination.k8s.io`.

mod election;
pub mod leasecandidates;
pub mod leases;
