//! The resources of `storage.k8s.io`.

pub mod csidrivers;
pub mod csinodes;
pub mod csistoragecapacities;
mod parameters;
pub mod storageclasses;
pub mod volumeattachments;
pub mod volumeattributesclasses;
