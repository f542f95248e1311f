//! `certificates.k8s.io/v1beta1 PodCertificateRequest`: a kubelet's request for a certificate for a pod.

mod issued;
mod key;
mod strategy;
mod validation;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::certificates::v1beta1::PodCertificateRequest;
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

pub(crate) use validation::{check_annotations, most_seconds};

/// `podcertificaterequests` of `certificates.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::certificates::v1beta1::PodCertificateRequest,
    group = "certificates.k8s.io",
    version = "v1beta1",
    introduced = "1.35",
    off_by_default,
    feature_gate = PodCertificateRequest,
    status,
    selectable(spec.signer_name, spec.pod_name, spec.node_name),
    columns = COLUMNS,
    unconditional_update = false,
    strategy = strategy::PodCertificateRequestStrategy,
)]
pub struct PodCertificateRequests;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PodName", |object| printers::text(object, &["spec", "podName"]))
        .documented_by(&["spec", "podName"]),
    Column::text("ServiceAccountName", |object| printers::text(object, &["spec", "serviceAccountName"]))
        .documented_by(&["spec", "serviceAccountName"]),
    Column::text("NodeName", |object| printers::text(object, &["spec", "nodeName"]))
        .documented_by(&["spec", "nodeName"]),
    Column::text("SignerName", |object| printers::text(object, &["spec", "signerName"]))
        .documented_by(&["spec", "signerName"]),
    Column::text("State", state).described("Is the request Pending, Issued, Denied, or Failed?"),
    Column::text("UnverifiedUserAnnotations", |object| {
        printers::labels_text(PodCertificateRequest(object).spec().unverified_user_annotations().value())
    })
    .documented_by(&["spec", "unverifiedUserAnnotations"]),
];

/// The conditions that end a request.
const FINAL: [&str; 3] = ["Issued", "Denied", "Failed"];

/// Returns the condition that ended the request.
fn state(object: &Object) -> Value {
    let states = conditions::all(object).map(|condition| condition.r#type().text());
    states.filter(|state| FINAL.contains(state)).last().unwrap_or("Pending").into()
}
