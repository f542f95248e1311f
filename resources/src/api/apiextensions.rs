//! The resources of `apiextensions.k8s.io`, and the kinds that they define.

mod controller;
pub mod custom_resources;
pub mod customresourcedefinitions;

pub(crate) use controller::VersionNames;
pub use controller::{CustomResourceController, DefinedVersions};
