//! The resources of `resource.k8s.io`.

mod access;
mod allocation;
mod capacity;
pub mod deviceclasses;
mod devices;
pub mod devicetaintrules;
mod flat;
mod names;
mod requests;
pub mod resourceclaims;
pub mod resourceclaimtemplates;
pub mod resourcepoolstatusrequests;
pub mod resourceslices;
mod selectors;
mod status_access;
mod taints;

pub use access::restrict_access;
