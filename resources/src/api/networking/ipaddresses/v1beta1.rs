//! `networking.k8s.io/v1beta1 IPAddress`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, IPAddresses};

/// `ipaddresses` of `networking.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1beta1::IPAddress,
    group = "networking.k8s.io",
    version = "v1beta1",
    off_by_default,
    short("ip"),
    cluster,
    hub = IPAddresses,
    same_fields,
    deprecated = "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
    columns = COLUMNS,
)]
pub struct IPAddressesV1beta1;
