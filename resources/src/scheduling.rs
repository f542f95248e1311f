//! The resources of `scheduling.k8s.io`.

pub mod priorityclasses;
