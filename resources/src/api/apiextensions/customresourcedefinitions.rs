//! `apiextensions.k8s.io/v1 CustomResourceDefinition`: a kind that is defined while the server runs.

mod approval;
pub mod conditions;
mod defaults;
pub mod definition;
mod findings;
mod formats;
mod retired;
mod schema;
mod strategy;
#[cfg(test)]
mod tests;
mod validation;
mod view;

use registry_derive::Resource;

use crate::support::printers;

pub use validation::{check_schema, is_structural};

/// `customresourcedefinitions` of `apiextensions.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    group = "apiextensions.k8s.io",
    version = "v1",
    retired("apiextensions.k8s.io/v1beta1" => try retired::renew),
    short("crd", "crds"),
    categories("api-extensions"),
    cluster,
    status,
    generation,
    columns = printers::NAME_AND_CREATED_AT,
    unconditional_update = false,
    plain_finalizers,
    strategy = strategy::DefinitionStrategy,
)]
pub struct CustomResourceDefinitions;
