//! `resource.k8s.io/v1beta1 ResourceClaim`: stored as `v1`, from which it differs in its requests.

use registry_core::api::Object;
use registry_core::resource::conversion::{ConversionError, Spoke};
use registry_derive::Resource;

use super::{COLUMNS, ResourceClaims};
use crate::api::resource::flat;

/// `resourceclaims` of `resource.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta1::ResourceClaim,
    group = "resource.k8s.io",
    version = "v1beta1",
    off_by_default,
    status,
    returns_deleted_object,
    hub = ResourceClaims,
    deprecated = "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
    columns = COLUMNS,
    strategy = hub,
)]
pub struct ResourceClaimsV1beta1;

impl Spoke for ResourceClaimsV1beta1 {
    type Hub = ResourceClaims;

    fn to_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::claim_to_v1(&mut object);
        Ok(object)
    }

    fn from_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::claim_of_v1(&mut object);
        Ok(object)
    }
}
