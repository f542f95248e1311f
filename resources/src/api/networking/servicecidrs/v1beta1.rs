//! `networking.k8s.io/v1beta1 ServiceCIDR`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::ServiceCIDRStrategy;
use super::{COLUMNS, ServiceCIDRs};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = ServiceCIDRVersion,
)]
pub struct ServiceCIDRsV1beta1;

older_version!(ServiceCIDRVersion, stored with ServiceCIDRStrategy, "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+");

same_fields!(ServiceCIDRsV1beta1, stored as ServiceCIDRs);
