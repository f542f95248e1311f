//! Kubernetes' built-in resources: a folder per API group, a file per resource, with what is special about it
//! (its strategy, its table, its own subresources) beside its declaration.
//!
//! `generated` is written by `cargo xtask codegen`: the storage map of everything declared here, and the facts about
//! upstream types.

pub mod admission;
pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apps;
pub mod authentication;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod bootstrap;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod discovery;
pub mod events;
pub mod flowcontrol;
pub mod generated;
pub mod internal;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod schema;
pub mod storage;
pub mod storagemigration;
mod support;
#[cfg(test)]
mod testing;

pub use generated::storage_map::STORAGE_MAP;

/// Attaches hooks to the stores of resources before they are served: services get addresses and ports of these ranges.
/// Returns the hooks that repair the allocations while the server runs.
pub fn attach_hooks(
    installed: &registry_core::registry::InstalledApi,
    ranges: core::services::ServiceAllocation,
) -> Vec<Box<dyn bootstrap::PostStartHook>> {
    let allocator = core::services::allocation::attach(installed, ranges);
    let repair = allocator.map(core::services::repair::AllocationRepair);
    repair.into_iter().map(|hook| Box::new(hook) as Box<dyn bootstrap::PostStartHook>).collect()
}
