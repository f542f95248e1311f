//! The resources of `rbac.authorization.k8s.io`.

mod binding_table;
pub mod clusterrolebindings;
pub mod clusterroles;
pub(crate) mod covers;
pub mod rolebindings;
pub mod roles;
mod rules;
