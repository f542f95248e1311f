//! `resource.k8s.io/v1beta2 ResourceClaimTemplate`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::ResourceClaimTemplates;

/// `resourceclaimtemplates` of `resource.k8s.io/v1beta2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta2::ResourceClaimTemplate,
    group = "resource.k8s.io",
    version = "v1beta2",
    introduced = "1.33",
    off_by_default,
    returns_deleted_object,
    hub = ResourceClaimTemplates,
    same_fields,
    deprecated = "resource.k8s.io/v1beta2 ResourceClaimTemplate is deprecated in v1.36+, unavailable in v1.39+",
)]
pub struct ResourceClaimTemplatesV1beta2;
