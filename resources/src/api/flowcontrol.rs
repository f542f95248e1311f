//! The resources of `flowcontrol.apiserver.k8s.io`.

mod conditions;
pub mod flowschemas;
pub mod mandatory;
pub mod prioritylevelconfigurations;
