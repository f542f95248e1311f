//! The resources of `resource.k8s.io`.

pub mod deviceclasses;
mod allocation;
mod capacity;
mod devices;
mod names;
mod requests;
mod selectors;
mod taints;
pub mod resourceclaims;
pub mod resourceclaimtemplates;
pub mod resourceslices;
