//! The resources of `apiextensions.k8s.io`.

pub mod customresourcedefinitions;
