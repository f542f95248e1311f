//! Validation of new PodCertificateRequests.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::certificates::v1beta1::PodCertificateRequestSpec;
use resource_views::{Map, Text};

use super::key;
use crate::api::certificates::signers;

/// Maximum length of a uid, in bytes.
const MAX_UID_BYTES: usize = 128;
/// Maximum size of all annotations, in bytes.
const MAX_ANNOTATION_BYTES: usize = 256 << 10;
/// Shortest duration that a request can allow, in seconds.
const LEAST_SECONDS: i64 = 60 * 60;
/// Longest duration for certificates of other signers than Kubernetes' own, in seconds.
const MOST_SECONDS: i64 = 91 * 24 * 60 * 60;
/// Longest duration for certificates of Kubernetes' own signers, in seconds.
const MOST_OWN_SECONDS: i64 = 24 * 60 * 60;

/// Returns the longest duration for certificates of a signer, in seconds.
pub(crate) fn most_seconds(signer: &str) -> i64 {
    if signers::is_kubernetes_own(signer) { MOST_OWN_SECONDS } else { MOST_SECONDS }
}

/// Checks a new request.
pub(super) fn check(spec: &PodCertificateRequestSpec<'_, '_>, errors: &mut ErrorList) {
    let signer = spec.signer_name();
    signers::check(&signer, errors);
    check_annotations(&spec.unverified_user_annotations(), errors);
    for (name, uid) in [
        (spec.pod_name(), spec.pod_uid()),
        (spec.service_account_name(), spec.service_account_uid()),
        (spec.node_name(), spec.node_uid()),
    ] {
        name.check(names::dns_subdomain, errors);
        check_uid(&uid, errors);
    }
    let seconds = spec.max_expiration_seconds();
    let Some(wanted) = seconds.integer() else {
        errors.push(seconds.required("must be set"));
        return;
    };
    let most = most_seconds(signer.text());
    if !(LEAST_SECONDS..=most).contains(&wanted) {
        errors.push(seconds.invalid(format!("must be in the range [{LEAST_SECONDS}, {most}]")));
    }
    check_key(spec, errors);
}

fn check_uid(uid: &Text<'_, '_>, errors: &mut ErrorList) {
    if uid.text().is_empty() {
        errors.push(uid.invalid_text("must not be empty"));
    }
    uid.check_length(MAX_UID_BYTES, errors);
}

/// Checks that the key is either in a request of PKCS#10, or stands alone with a signature.
fn check_key(spec: &PodCertificateRequestSpec<'_, '_>, errors: &mut ErrorList) {
    let fields = [spec.stub_pkcs10_request(), spec.pkix_public_key(), spec.proof_of_possession()];
    match fields.map(|field| !field.text().is_empty()) {
        [true, false, false] => key::check_request(&spec.stub_pkcs10_request(), errors),
        [false, true, true] => key::check_proof(spec, errors),
        _ => {
            let detail =
                "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            errors.push(FieldError::invalid(spec.path(), "", detail).without_value());
        }
    }
}

/// Checks the annotations for the signer, whose keys have domains.
pub(crate) fn check_annotations(annotations: &Map<Text<'_, '_>>, errors: &mut ErrorList) {
    let place = || annotations.path();
    let mut size = 0;
    for (key, value) in annotations.texts() {
        size += key.len() + value.len();
        let key = key.to_lowercase();
        if key.is_empty() {
            errors.push(FieldError::required(place(), ""));
            continue;
        }
        let complaints = names::qualified_name(&key);
        if complaints.is_empty() && !key.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(place(), key, detail));
            continue;
        }
        for complaint in complaints {
            errors.push(FieldError::invalid(place(), key.as_str(), complaint));
        }
    }
    if size > MAX_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(place(), MAX_ANNOTATION_BYTES));
    }
}
