//! Rules of CertificateSigningRequests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::edit;
use crate::field::Field;

/// Who asks is recorded by the server, and what was asked for never changes.
pub(super) struct CertificateSigningRequestStrategy;

impl ObjectStrategy for CertificateSigningRequestStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        if edit::is_empty_at(object, &["spec", "usages"]) {
            object.remove(&["spec", "usages"]);
        }
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        // Who asks is what authentication found out, whatever the request claims.
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
        if !holds_block(&request, "CERTIFICATE REQUEST") {
            errors.push(spec.get("request").invalid("PEM block type must be CERTIFICATE REQUEST"));
        }
        let signer = spec.get("signerName");
        if signer.check_present(&mut errors) {
            if signer.text() == "kubernetes.io/legacy-unknown" {
                errors.push(signer.invalid("the legacy signerName is not allowed via this API version"));
            } else if !is_qualified(signer.text()) {
                errors.push(signer.invalid(
                    "must be a fully qualified domain and path of the form 'example.com/signer-name'",
                ));
            }
        }
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::of(new, "status");
        let certificate = status.get("certificate");
        let pem = STANDARD.decode(certificate.text()).unwrap_or_default();
        if certificate.exists() && !holds_block(&pem, "CERTIFICATE") {
            let detail = "must contain at least one CERTIFICATE PEM block";
            errors.push(FieldError::invalid(certificate.path(), "<certificate data>", detail));
        }
        errors
    }
}

/// Whether a PEM text has a block of this type.
fn holds_block(pem: &[u8], kind: &str) -> bool {
    String::from_utf8_lossy(pem).contains(&format!("-----BEGIN {kind}-----"))
}

/// Whether a signer is named by a domain with a dot and a path.
fn is_qualified(signer: &str) -> bool {
    signer.split_once('/').is_some_and(|(domain, path)| domain.contains('.') && !path.is_empty())
}
