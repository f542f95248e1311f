//! Kubernetes' built-in resources.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`bootstrap`] | the objects that every server has: namespaces, roles, priority levels, the Service `kubernetes` |
//! | [`admission`] | the built-in admission plug-ins |
//! | [`api`] | a folder per API group, a file per resource, with its strategy, its columns and its own subresources |
//! | [`post_start`] | the interface of tasks that run after the start |
//! | `support` | shared by the groups: reading and writing other objects, defaulting, field errors, table cells |
//! | [`metrics`] | the metrics of rules |
//! | [`schema`] | the schemas and descriptions of the built-in kinds |
//!
//! [`generated`] is written by `cargo xtask codegen`: the storage map of everything declared here, and the facts about
//! upstream types.

pub mod admission;
pub mod api;
pub mod bootstrap;
pub mod generated;
pub mod metrics;
pub mod post_start;
pub mod schema;
mod support;
#[cfg(test)]
mod testing;

pub use generated::storage_map::STORAGE_MAP;

/// The work of the rules that are attached to stores.
#[derive(Default)]
pub struct AttachedWork {
    /// The hooks that repair allocations while the server runs.
    pub hooks: Vec<Box<dyn post_start::PostStartHook>>,
    /// The informers that follow what other servers on the same store write.
    pub informers: Vec<registry_core::registry::InformerTask>,
}

/// Attaches hooks to the stores of resources before they are served: services get addresses and ports of these ranges.
/// `shared` is the store, if several servers use it. Endpoints are removed with their services. Returns what runs with
/// the hooks.
pub fn attach_hooks(
    installed: &registry_core::registry::InstalledApi,
    ranges: api::core::services::ServiceAllocation,
    shared: Option<api::core::services::SharedStore>,
    features: registry_core::features::Features,
) -> AttachedWork {
    let allocator = api::core::services::allocation::attach(installed, ranges, shared, features);
    // After the allocator, which releases without waiting for anything.
    api::core::services::endpoints::attach_removal(installed);
    let Some(allocator) = allocator else { return AttachedWork::default() };
    let informers = allocator.informer().into_iter().collect();
    AttachedWork {
        hooks: vec![Box::new(api::core::services::allocation::repair::AllocationRepair(allocator))],
        informers,
    }
}
