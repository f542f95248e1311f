//! `resource.k8s.io/v1beta1 ResourceClaimTemplate`: stored as `v1`, from which it differs in its requests.

use registry_core::api::Object;
use registry_core::resource::conversion::{ConversionError, Spoke};
use registry_derive::Resource;

use super::ResourceClaimTemplates;
use crate::api::resource::flat;

/// `resourceclaimtemplates` of `resource.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta1::ResourceClaimTemplate,
    group = "resource.k8s.io",
    version = "v1beta1",
    off_by_default,
    returns_deleted_object,
    hub = ResourceClaimTemplates,
    deprecated = "resource.k8s.io/v1beta1 ResourceClaimTemplate is deprecated in v1.35+, unavailable in v1.38+",
    strategy = hub,
)]
pub struct ResourceClaimTemplatesV1beta1;

impl Spoke for ResourceClaimTemplatesV1beta1 {
    type Hub = ResourceClaimTemplates;

    fn to_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::template_to_v1(&mut object);
        Ok(object)
    }

    fn from_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::template_of_v1(&mut object);
        Ok(object)
    }
}
