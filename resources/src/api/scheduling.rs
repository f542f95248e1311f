//! The resources of `scheduling.k8s.io`.

mod pod_group;
pub mod podgroups;
pub mod priorityclasses;
pub mod workloads;
