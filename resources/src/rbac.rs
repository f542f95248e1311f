//! The resources of `rbac.authorization.k8s.io`.

mod binding_table;
pub mod clusterrolebindings;
pub mod clusterroles;
pub mod rolebindings;
pub mod roles;
mod rules;
