//! The resources of `resource.k8s.io`.

pub mod deviceclasses;
mod requests;
pub mod resourceclaims;
pub mod resourceclaimtemplates;
pub mod resourceslices;
