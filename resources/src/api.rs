//! The API groups: a folder per group, a file per resource, with its strategy, its columns and its own subresources
//! beside its declaration.

pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apps;
pub mod authentication;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod discovery;
pub mod events;
pub mod flowcontrol;
pub mod internal;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
#[cfg(test)]
mod retired_versions;
pub mod scheduling;
pub mod storage;
pub mod storagemigration;
