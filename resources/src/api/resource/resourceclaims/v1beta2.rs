//! `resource.k8s.io/v1beta2 ResourceClaim`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::ResourceClaimStrategy;
use super::{COLUMNS, ResourceClaims};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = ResourceClaimVersion,
)]
pub struct ResourceClaimsV1beta2;

older_version!(ResourceClaimVersion, stored with ResourceClaimStrategy, "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+");

same_fields!(ResourceClaimsV1beta2, stored as ResourceClaims);
