//! Kubernetes' built-in resources: a folder per API group, a file per resource, with what is special about it
//! (its strategy, its table, its own subresources) beside its declaration.
//!
//! `generated` is written by `cargo xtask codegen`: the storage map of everything declared here, and the facts about
//! upstream types.

pub mod admission;
pub mod api;
pub mod bootstrap;
pub mod generated;
pub mod schema;
mod support;
#[cfg(test)]
mod testing;

pub use generated::storage_map::STORAGE_MAP;

/// The work of the rules that are attached to stores.
#[derive(Default)]
pub struct AttachedWork {
    /// The hooks that repair allocations while the server runs.
    pub hooks: Vec<Box<dyn bootstrap::PostStartHook>>,
    /// The informers that follow what other servers on the same store write.
    pub informers: Vec<registry_core::registry::InformerTask>,
}

/// Attaches hooks to the stores of resources before they are served: services get addresses and ports of these ranges.
/// Returns what runs with them.
pub fn attach_hooks(
    installed: &registry_core::registry::InstalledApi,
    ranges: api::core::services::ServiceAllocation,
) -> AttachedWork {
    let Some(allocator) = api::core::services::allocation::attach(installed, ranges) else {
        return AttachedWork::default();
    };
    let informers = allocator.informer().into_iter().collect();
    AttachedWork {
        hooks: vec![Box::new(api::core::services::repair::AllocationRepair(allocator))],
        informers,
    }
}
