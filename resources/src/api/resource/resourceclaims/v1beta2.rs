//! `resource.k8s.io/v1beta2 ResourceClaim`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, ResourceClaims};

/// `resourceclaims` of `resource.k8s.io/v1beta2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta2::ResourceClaim,
    group = "resource.k8s.io",
    version = "v1beta2",
    introduced = "1.33",
    off_by_default,
    status,
    returns_deleted_object,
    hub = ResourceClaims,
    same_fields,
    deprecated = "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+",
    columns = COLUMNS,
)]
pub struct ResourceClaimsV1beta2;
