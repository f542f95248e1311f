//! The resources of `discovery.k8s.io`.

pub mod endpointslices;
