//! The API groups: a folder per group, a file per resource, with its strategy, its columns and its own subresources
//! beside its declaration. Groups depend only on groups below them in this list:
//!
//! | modules | contents |
//! |---|---|
//! | `apps`, `autoscaling`, `batch`, `coordination`, `events`, `node`, `resource`, `storage` | kinds about pods, nodes and volumes, which share rules with `core` |
//! | `core` | the core group |
//! | `certificates`, `discovery`, `networking`, `policy` | kinds that the subresources of `core` read or call |
//! | `apiregistration` | extension servers, also those of the versions that definitions serve |
//! | `apiextensions` | custom resource definitions |
//! | `admissionregistration`, `authentication`, `authorization`, `flowcontrol`, `internal`, `rbac`, `scheduling`, `storagemigration` | groups of their own |

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
