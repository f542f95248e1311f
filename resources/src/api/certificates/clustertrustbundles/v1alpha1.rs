//! `certificates.k8s.io/v1alpha1 ClusterTrustBundle`: the fields of `v1beta1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, ClusterTrustBundles};

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
    same_fields,
    deprecated = "certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+",
    columns = COLUMNS,
)]
pub struct ClusterTrustBundlesV1alpha1;
