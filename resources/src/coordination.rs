//! The resources of `coordination.k8s.io`.

pub mod leases;
