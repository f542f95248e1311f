//! Rules of CertificateSigningRequests.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::{self, NameRule};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use super::{conditions, x509};
use crate::support::defaulting;
use crate::support::field::Field;

/// Minimum requested duration of a certificate.
const LEAST_SECONDS: i64 = 600;
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

/// The server records the requesting user; the request is immutable.
pub(super) struct CertificateSigningRequestStrategy;

impl ObjectStrategy for CertificateSigningRequestStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        if defaulting::is_empty_at(object, &["spec", "usages"]) {
            object.remove(&["spec", "usages"]);
        }
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        // The user is the authenticated one, whatever the request claims.
        for field in ["username", "uid", "groups", "extra"] {
            object.remove(&["spec", field]);
        }
        let user = &context.user;
        if !user.name.is_empty() {
            object.set(&["spec", "username"], user.name.as_str().into());
        }
        if !user.uid.is_empty() {
            object.set(&["spec", "uid"], user.uid.as_str().into());
        }
        if !user.groups.is_empty() {
            object.set(&["spec", "groups"], user.groups.clone().into());
        }
        if !user.extra.is_empty() {
            let extra = user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into()));
            object.set(&["spec", "extra"], Value::Object(extra.collect()));
        }
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["spec"]);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let request = STANDARD.decode(spec.get("request").text()).unwrap_or_default();
        if let Err(why) = x509::check_request(&request) {
            errors.push(spec.get("request").invalid(why));
        }
        check_usages(&spec.get("usages"), &mut errors);
        check_signer(&spec.get("signerName"), &mut errors);
        let seconds = spec.get("expirationSeconds");
        if seconds.integer().is_some_and(|seconds| seconds < LEAST_SECONDS) {
            errors.push(seconds.invalid("may not specify a duration less than 600 seconds (10 minutes)"));
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Any
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        // The server sets a part of the spec, and the rest is immutable.
        &[&["spec"]]
    }

    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        // Approval is a subresource of its own.
        &[&["status", "conditions"]]
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        conditions::keep_decisions(new, old);
        conditions::set_times(new, old);
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        conditions::check_each(new, &mut errors);
        let status = Field::of(new, "status");
        let certificate = status.get("certificate");
        let pem = STANDARD.decode(certificate.text()).unwrap_or_default();
        if !certificate.text().is_empty()
            && let Err(why) = x509::check_certificates(&pem)
        {
            errors.push(FieldError::invalid(certificate.path(), "<certificate data>", why));
        }
        conditions::check_kept(new, old, &mut errors);
        conditions::check_undecided(new, old, &mut errors);
        let before = old.get_str(&["status", "certificate"]).unwrap_or_default();
        if !before.is_empty() && before != certificate.text() {
            errors.push(certificate.forbidden("updates may not modify existing certificate content"));
        }
        errors
    }
}

/// Checks key usages: known and unique.
fn check_usages(usages: &Field<'_, '_>, errors: &mut ErrorList) {
    if usages.len() == 0 {
        errors.push(usages.required("usages must be provided"));
    }
    let mut seen = HashSet::new();
    for usage in usages.elements() {
        usage.check_one_of(&USAGES, errors);
        if seen.contains(&usage.text()) {
            errors.push(usage.duplicate());
        }
        seen.insert(usage.text());
    }
}

/// Checks `example.com/signer-name`: a domain of at least two labels, and a path of at least one segment.
fn check_signer(signer: &Field<'_, '_>, errors: &mut ErrorList) {
    if !signer.check_present(errors) {
        return;
    }
    if signer.text() == "kubernetes.io/legacy-unknown" {
        errors.push(signer.invalid("the legacy signerName is not allowed via this API version"));
        return;
    }
    let Some((domain, path)) = signer.text().split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(signer.invalid(detail));
        return;
    };
    for label in domain.split('.') {
        for complaint in names::dns_label(label) {
            let detail = format!("validating label {label:?}: {complaint}");
            errors.push(FieldError::invalid(signer.path(), domain, detail));
        }
    }
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(signer.path(), domain, detail));
    }
    for label in path.split('.') {
        for complaint in names::dns_subdomain(label) {
            let detail = format!("validating label {label:?}: {complaint}");
            errors.push(FieldError::invalid(signer.path(), path, detail));
        }
    }
}
