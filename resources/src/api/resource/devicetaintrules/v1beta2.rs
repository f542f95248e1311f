//! `resource.k8s.io/v1beta2 DeviceTaintRule`: the fields of `v1alpha3`, as which it is stored.

use registry_derive::Resource;

use super::strategy::DeviceTaintRuleStrategy;
use super::{COLUMNS, DeviceTaintRules};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = DeviceTaintRuleVersion,
)]
pub struct DeviceTaintRulesV1beta2;

older_version!(DeviceTaintRuleVersion, stored with DeviceTaintRuleStrategy);

same_fields!(DeviceTaintRulesV1beta2, stored as DeviceTaintRules);
