//! Requests that are stored as `v1beta1`, which need not name their signer.
//!
//! Kubernetes concept: the defaults of `pkg/apis/certificates/v1beta1`.

use registry_core::api::Object;
use resource_views::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestMut, CertificateSigningRequestSpec,
};
use serde_json::json;

use super::subject;
use super::validation::LEGACY_SIGNER;

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";

/// Changes a request of `v1beta1` into one of `v1`.
pub(super) fn renew(request: &mut Object) {
    let mut spec = CertificateSigningRequestMut(request).spec().or_new();
    spec.usages().or_if_empty(|| json!(["digital signature", "key encipherment"]));
    // A message of `v1` has an empty name where one of `v1beta1` has none.
    if spec.signer_name().is_unset() {
        let signer = signer(&CertificateSigningRequest(request).spec());
        CertificateSigningRequestMut(request).spec().or_new().signer_name().set(signer);
    }
    if let Some(mut status) = CertificateSigningRequestMut(request).status().present() {
        status.conditions().elements().for_each(|mut condition| condition.status().or("True"));
    }
}

/// Returns the signer that a request without one is for: one of kubelets, if a kubelet may have written it.
fn signer(spec: &CertificateSigningRequestSpec<'_, '_>) -> &'static str {
    let Ok(subject) = subject::subject_of(&spec.request().bytes()) else { return LEGACY_SIGNER };
    let is_kubelet = subject.organizations == ["system:nodes"]
        && subject.common_name.starts_with("system:node:")
        && !subject.has_other_names;
    let mut usages: Vec<&str> = spec.usages().texts().filter(|usage| *usage != "key encipherment").collect();
    usages.sort_unstable();
    usages.dedup();
    match (usages.as_slice(), subject.has_hosts) {
        (["client auth", "digital signature"], false) if is_kubelet => CLIENT_SIGNER,
        (["digital signature", "server auth"], true) if is_kubelet => SERVING_SIGNER,
        _ => LEGACY_SIGNER,
    }
}
