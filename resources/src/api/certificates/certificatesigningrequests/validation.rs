//! Validation of CertificateSigningRequests. What a stored request had before is tolerated in its updates.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use resource_views::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use resource_views::{Bytes, List, Text};

use super::conditions;
use crate::api::certificates::{pem, signers};

/// Minimum requested duration of a certificate.
const LEAST_SECONDS: i64 = 600;
/// The signer of requests of `v1beta1` that name none.
pub(super) const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
/// The known key usages.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The part of a request that a write may change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Metadata.
    Object,
    /// The certificate, and conditions that are no decisions.
    Status,
    /// The decisions.
    Approval,
}

/// Checks a request; `old` is what it was before an update.
pub(super) fn check(request: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = CertificateSigningRequest(request).spec();
    let text = spec.request();
    if let Some(complaint) = pem::request_complaint(&text.bytes()) {
        errors.push(text.invalid(complaint));
    }
    let before = old.map(|old| CertificateSigningRequest(old).spec());
    check_usages(
        &spec.usages(),
        before.as_ref().map(CertificateSigningRequestSpec::usages).as_ref(),
        &mut errors,
    );
    let keeps_legacy_signer =
        before.as_ref().is_some_and(|before| before.signer_name().text() == LEGACY_SIGNER);
    check_signer(&spec.signer_name(), keeps_legacy_signer, &mut errors);
    let seconds = spec.expiration_seconds();
    if seconds.integer().is_some_and(|seconds| seconds < LEAST_SECONDS) {
        errors.push(seconds.invalid("may not specify a duration less than 600 seconds (10 minutes)"));
    }
    conditions::check(request, old, &mut errors);
    check_certificate(request, old, &mut errors);
    errors
}

/// Checks an update of a request.
pub(super) fn check_update(new: &Object, old: &Object, scope: Scope) -> ErrorList {
    let mut errors = check(new, Some(old));
    conditions::check_change(new, old, scope == Scope::Approval, &mut errors);
    let status = CertificateSigningRequest(new).status();
    let certificate = status.certificate();
    let before = CertificateSigningRequest(old).status().certificate().text();
    if before != certificate.text() {
        if scope != Scope::Status {
            errors.push(certificate.forbidden("updates may not set certificate content"));
        } else if !before.is_empty() {
            errors.push(certificate.forbidden("updates may not modify existing certificate content"));
        }
    }
    errors
}

/// Checks the certificate unless it is the one from before, or that one was no certificate either.
fn check_certificate(request: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let status = CertificateSigningRequest(request).status();
    let certificate = status.certificate();
    let complaint = |certificate: &Bytes<'_, '_>| pem::certificate_complaint(&certificate.bytes());
    let before = old.map(|old| CertificateSigningRequest(old).status());
    let before = before.as_ref().map(CertificateSigningRequestStatus::certificate);
    if before.is_some_and(|before| before.text() == certificate.text() || complaint(&before).is_some()) {
        return;
    }
    if let Some(complaint) = complaint(&certificate) {
        errors.push(FieldError::invalid(certificate.path(), "<certificate data>", complaint));
    }
}

/// Checks key usages: known and unique.
fn check_usages(usages: &List<Text<'_, '_>>, old: Option<&List<Text<'_, '_>>>, errors: &mut ErrorList) {
    let has_unknown = |usages: &List<Text<'_, '_>>| usages.texts().any(|usage| !USAGES.contains(&usage));
    let has_duplicates = |usages: &List<Text<'_, '_>>| {
        let mut seen = HashSet::new();
        !usages.texts().all(|usage| seen.insert(usage))
    };
    usages.check_not_empty(errors);
    if !old.is_some_and(has_unknown) {
        for usage in usages.elements() {
            usage.check_one_of(&USAGES, errors);
        }
    }
    if !old.is_some_and(has_duplicates) {
        usages.check_unique_texts(errors);
    }
}

/// Checks the name of a signer. The legacy one is tolerated if it was there before.
fn check_signer(signer: &Text<'_, '_>, keeps_legacy: bool, errors: &mut ErrorList) {
    if signer.text() == LEGACY_SIGNER && !keeps_legacy {
        errors.push(signer.invalid("the legacy signerName is not allowed via this API version"));
        return;
    }
    signers::check(signer, errors);
}
