//! The resources of `certificates.k8s.io`.

pub mod certificatesigningrequests;
