//! `certificates.k8s.io/v1alpha1 ClusterTrustBundle`: the fields of `v1beta1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::ClusterTrustBundleStrategy;
use super::{COLUMNS, ClusterTrustBundles};
use crate::support::older_version::{older_version, same_fields};

/// `clustertrustbundles` of `certificates.k8s.io/v1alpha1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::certificates::v1alpha1::ClusterTrustBundle,
    group = "certificates.k8s.io",
    version = "v1alpha1",
    off_by_default,
    feature_gate = ClusterTrustBundle,
    cluster,
    selectable(spec.signer_name),
    hub = ClusterTrustBundles,
    columns = COLUMNS,
    strategy = ClusterTrustBundleVersion,
)]
pub struct ClusterTrustBundlesV1alpha1;

older_version!(
    ClusterTrustBundleVersion,
    stored with ClusterTrustBundleStrategy,
    "certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+"
);

same_fields!(ClusterTrustBundlesV1alpha1, stored as ClusterTrustBundles);
