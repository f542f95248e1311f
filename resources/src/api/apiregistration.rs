//! The resources of `apiregistration.k8s.io`.

pub mod apiservices;
mod registration;

pub use registration::CustomRegistration;
