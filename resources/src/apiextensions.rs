//! The resources of `apiextensions.k8s.io`.

pub mod custom_resources;
pub mod customresourcedefinitions;
