//! The resources of `apps`.

pub mod controllerrevisions;
pub mod daemonsets;
pub mod deployments;
pub mod replicasets;
mod retired;
pub mod statefulsets;
