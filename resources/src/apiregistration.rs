//! The resources of `apiregistration.k8s.io`.

pub mod apiservices;
