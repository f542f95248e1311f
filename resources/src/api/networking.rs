//! The resources of `networking.k8s.io`.

pub mod ingressclasses;
pub mod ingresses;
pub mod ipaddresses;
pub mod networkpolicies;
mod references;
pub mod servicecidrs;
