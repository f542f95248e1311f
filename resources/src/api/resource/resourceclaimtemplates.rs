//! `resource.k8s.io/v1 ResourceClaimTemplate`: ResourceClaimTemplate is used to produce ResourceClaim objects.

mod strategy;
pub mod v1beta1;
pub mod v1beta2;

use registry_derive::Resource;

/// `resourceclaimtemplates` of `resource.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1::ResourceClaimTemplate,
    group = "resource.k8s.io",
    version = "v1",
    introduced = "1.34",
    returns_deleted_object,
    strategy = strategy::ResourceClaimTemplateStrategy,
)]
pub struct ResourceClaimTemplates;
