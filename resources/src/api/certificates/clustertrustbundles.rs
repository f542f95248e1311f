//! `certificates.k8s.io/v1beta1 ClusterTrustBundle`: trust anchors for the workloads of a cluster.

mod strategy;
pub mod v1alpha1;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

pub(crate) use strategy::name_complaints;

/// `clustertrustbundles` of `certificates.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::certificates::v1beta1::ClusterTrustBundle,
    group = "certificates.k8s.io",
    version = "v1beta1",
    introduced = "1.33",
    off_by_default,
    feature_gate = ClusterTrustBundle,
    cluster,
    selectable(spec.signer_name),
    columns = COLUMNS,
    unconditional_update = false,
    names = Any,
    strategy = strategy::ClusterTrustBundleStrategy,
)]
pub struct ClusterTrustBundles;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("SignerName", |object| printers::text_or(object, &["spec", "signerName"], "<none>"))
        .documented_by(&["spec", "signerName"]),
];
