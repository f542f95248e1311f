//! The resources of `rbac.authorization.k8s.io`.

mod aggregation;
mod binding_table;
pub mod clusterrolebindings;
pub mod clusterroles;
mod escalation;
pub(crate) mod held;
mod retired;
pub mod rolebindings;
pub mod roles;
mod rules;

pub use aggregation::RoleAggregation;
pub use escalation::prevent_escalation;
