//! `resource.k8s.io/v1beta2 DeviceTaintRule`: the fields of `v1alpha3`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, DeviceTaintRules};

/// `devicetaintrules` of `resource.k8s.io/v1beta2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1beta2::DeviceTaintRule,
    group = "resource.k8s.io",
    version = "v1beta2",
    introduced = "1.36",
    off_by_default,
    cluster,
    status,
    hub = DeviceTaintRules,
    same_fields,
    columns = COLUMNS,
)]
pub struct DeviceTaintRulesV1beta2;
