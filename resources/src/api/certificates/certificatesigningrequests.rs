//! `certificates.k8s.io/v1 CertificateSigningRequest`: a request for a certificate, which a signer issues when it is approved.

pub mod approval;
mod conditions;
mod durations;
mod retired;
mod strategy;
pub(crate) mod subject;
mod validation;

pub use durations::count_durations;
use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::certificates::v1::CertificateSigningRequest;
use serde_json::Value;

use crate::support::printers;

/// `certificatesigningrequests` of `certificates.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::certificates::v1::CertificateSigningRequest,
    group = "certificates.k8s.io",
    version = "v1",
    retired("certificates.k8s.io/v1beta1" => retired::renew),
    short("csr"),
    cluster,
    status,
    selectable(spec.signer_name),
    columns = COLUMNS,
    // The server sets a part of the spec, and the rest is immutable.
    reset(spec),
    // Approval is a subresource of its own.
    reset_by_status(status.conditions),
    names = Any,
    strategy = strategy::CertificateSigningRequestStrategy,
    subresource(approval::Approval, verbs(get, update, patch)),
)]
pub struct CertificateSigningRequests;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::AGE,
    Column::text("SignerName", |object| printers::text(object, &["spec", "signerName"])).described("Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`."),
    Column::text("Requestor", |object| printers::text(object, &["spec", "username"])).described("Base64-encoded PKCS#10 CSR data"),
    Column::text("RequestedDuration", requested_duration).documented_by(&["spec", "expirationSeconds"]),
    Column::text("Condition", conditions).described("Conditions applied to the request, such as approval or denial."),
];

/// Returns the requested duration of the certificate.
fn requested_duration(object: &Object) -> Value {
    match CertificateSigningRequest(object).spec().expiration_seconds().integer() {
        Some(seconds) => printers::duration_text(seconds).into(),
        None => "<none>".into(),
    }
}

/// Returns the state of the request: `Approved,Issued`, `Denied`, `Pending`.
fn conditions(object: &Object) -> Value {
    let has = |wanted: &str| crate::support::conditions::find(object, wanted).is_some();
    let mut words = Vec::new();
    if has("Denied") {
        words.push("Denied");
    } else if has("Approved") {
        words.push("Approved");
    } else {
        words.push("Pending");
    }
    if has("Failed") {
        words.push("Failed");
    }
    if !CertificateSigningRequest(object).status().certificate().text().is_empty() {
        words.push("Issued");
    }
    words.join(",").into()
}
