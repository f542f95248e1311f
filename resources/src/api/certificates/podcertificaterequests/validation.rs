//! Validation of new PodCertificateRequests.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::key;
use crate::api::certificates::signers;
use crate::support::field::Field;

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

/// Checks a new request.
pub(super) fn check(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let signer = spec.get("signerName");
    signers::check(&signer, errors);
    check_annotations(&spec.get("unverifiedUserAnnotations"), errors);
    for (name, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        let name = spec.get(name);
        for complaint in names::dns_subdomain(name.text()) {
            errors.push(name.invalid_text(complaint));
        }
        check_uid(&spec.get(uid), errors);
    }
    let seconds = spec.get("maxExpirationSeconds");
    let Some(wanted) = seconds.integer() else {
        errors.push(seconds.required("must be set"));
        return;
    };
    let most = if signers::is_kubernetes_own(signer.text()) { MOST_OWN_SECONDS } else { MOST_SECONDS };
    if !(LEAST_SECONDS..=most).contains(&wanted) {
        errors.push(seconds.invalid(format!("must be in the range [{LEAST_SECONDS}, {most}]")));
    }
    check_key(spec, errors);
}

fn check_uid(uid: &Field<'_, '_>, errors: &mut ErrorList) {
    if uid.text().is_empty() {
        errors.push(uid.invalid_text("must not be empty"));
    }
    uid.check_length(MAX_UID_BYTES, errors);
}

/// Checks that the key is either in a request of PKCS#10, or stands alone with a signature.
fn check_key(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let is_set = |name: &str| !spec.get(name).text().is_empty();
    match (is_set("stubPKCS10Request"), is_set("pkixPublicKey"), is_set("proofOfPossession")) {
        (true, false, false) => key::check_request(&spec.get("stubPKCS10Request"), errors),
        (false, true, true) => key::check_proof(spec, errors),
        _ => {
            let detail =
                "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            errors.push(FieldError::invalid(spec.path(), "", detail).without_value());
        }
    }
}

/// Checks the annotations for the signer, whose keys have domains.
fn check_annotations(annotations: &Field<'_, '_>, errors: &mut ErrorList) {
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
