//! The resources of `admissionregistration.k8s.io`.

mod expressions;
mod matching;
pub mod mutatingadmissionpolicies;
pub mod mutatingadmissionpolicybindings;
pub mod mutatingwebhookconfigurations;
mod parameter_access;
mod policy_printers;
pub mod policy_status;
mod reserved_names;
mod retired;
pub mod validatingadmissionpolicies;
pub mod validatingadmissionpolicybindings;
pub mod validatingwebhookconfigurations;

pub use parameter_access::{ResourceResolver, protect_parameters};
pub use reserved_names::RESERVED_ENDING;
