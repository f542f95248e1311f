//! The resources of the core group.

pub mod bindings;
pub mod componentstatuses;
pub(crate) mod config_data;
pub mod configmaps;
pub mod endpoints;
pub mod events;
mod kubelet;
pub mod limitranges;
pub mod namespaces;
pub(crate) mod node_selector;
pub mod nodes;
pub mod persistentvolumeclaims;
pub mod persistentvolumes;
pub(crate) mod pod_spec;
pub mod pods;
pub mod podtemplates;
mod proxying;
pub mod replicationcontrollers;
pub mod resourcequotas;
pub mod secrets;
pub mod serviceaccounts;
pub mod services;
#[cfg(test)]
mod tests;
pub(crate) mod volume_claim;
pub(crate) mod workload;
