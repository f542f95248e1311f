//! `resource.k8s.io/v1beta2 ResourceSlice`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, ResourceSlices};

/// `resourceslices` of `resource.k8s.io/v1beta2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta2::ResourceSlice,
    group = "resource.k8s.io",
    version = "v1beta2",
    introduced = "1.33",
    off_by_default,
    cluster,
    returns_deleted_object,
    selectable(spec.node_name, spec.driver),
    hub = ResourceSlices,
    same_fields,
    deprecated = "resource.k8s.io/v1beta2 ResourceSlice is deprecated in v1.36+, unavailable in v1.39+",
    columns = COLUMNS,
)]
pub struct ResourceSlicesV1beta2;
