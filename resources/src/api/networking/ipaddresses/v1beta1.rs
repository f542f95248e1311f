//! `networking.k8s.io/v1beta1 IPAddress`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::IPAddressStrategy;
use super::{COLUMNS, IPAddresses};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = IPAddressVersion,
)]
pub struct IPAddressesV1beta1;

older_version!(IPAddressVersion, stored with IPAddressStrategy, "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+");

same_fields!(IPAddressesV1beta1, stored as IPAddresses);
