//! `resource.k8s.io/v1beta1 ResourceSlice`: stored as `v1`, from which it differs in its devices.

use registry_core::api::Object;
use registry_core::resource::conversion::{ConversionError, Spoke};
use registry_derive::Resource;

use super::{COLUMNS, ResourceSlices};
use crate::api::resource::flat;

/// `resourceslices` of `resource.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta1::ResourceSlice,
    group = "resource.k8s.io",
    version = "v1beta1",
    off_by_default,
    cluster,
    returns_deleted_object,
    selectable(spec.node_name, spec.driver),
    hub = ResourceSlices,
    deprecated = "resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+",
    columns = COLUMNS,
    strategy = hub,
)]
pub struct ResourceSlicesV1beta1;

impl Spoke for ResourceSlicesV1beta1 {
    type Hub = ResourceSlices;

    fn to_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::slice_to_v1(&mut object);
        Ok(object)
    }

    fn from_hub(mut object: Object) -> Result<Object, ConversionError> {
        flat::slice_of_v1(&mut object);
        Ok(object)
    }
}
