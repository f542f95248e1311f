//! `networking.k8s.io/v1beta1 ServiceCIDR`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, ServiceCIDRs};

/// `servicecidrs` of `networking.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1beta1::ServiceCIDR,
    group = "networking.k8s.io",
    version = "v1beta1",
    off_by_default,
    cluster,
    status,
    hub = ServiceCIDRs,
    same_fields,
    deprecated = "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+",
    columns = COLUMNS,
)]
pub struct ServiceCIDRsV1beta1;
