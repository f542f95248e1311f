//! The resources of `flowcontrol.apiserver.k8s.io`.

pub mod flowschemas;
pub mod prioritylevelconfigurations;
