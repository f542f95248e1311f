//! Validation of the status of PodCertificateRequests, with which a signer ends a request.

use jiff::{SignedDuration, Timestamp};
use registry_core::api::time::moment::{Layout, Moment};
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object};
use resource_views::certificates::v1beta1::{PodCertificateRequest, PodCertificateRequestStatus};
use resource_views::meta::v1::Condition;
use resource_views::{List, Text, Time, View};
use serde_json::Value;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

use super::{FINAL, key};
use crate::api::certificates::{certificate, pem};
use crate::support::{conditions, semantic};

/// Maximum size of a chain of certificates, in bytes.
const MAX_CHAIN_BYTES: usize = 100 << 10;
const ONE_FINAL: &str = r#"There may be at most one condition with type "Issued", "Denied", or "Failed""#;
const AFTER_END: &str = "immutable after PodCertificateRequest is issued, denied, or failed";
const ONLY_CONDITIONS: &str =
    "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
const NO_END: &str = r#"status is immutable unless transitioning to "Issued", "Denied", or "Failed""#;
const OTHER_KEY: &str = "leaf certificate was not issued to the requested public key";
/// Maximum difference between the start of a certificate and the present time.
const SKEW: SignedDuration = SignedDuration::from_mins(5);
/// The shortest lifetime of a certificate.
const LEAST_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// The time after the start, and before the end, at which a certificate is not refreshed.
const REFRESH_MARGIN: SignedDuration = SignedDuration::from_mins(10);

/// Checks a change of the status.
pub(super) fn check_status(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let status = PodCertificateRequest(new).status();
    check_conditions(&status.conditions(), &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let is_same = semantic::equal(status.value(), PodCertificateRequest(old).status().value());
    let refused =
        |detail: &str| ErrorList::from(FieldError::invalid(status.path(), "", detail).without_value());
    if FINAL.iter().any(|state| has(old, state)) {
        return if is_same { errors } else { refused(AFTER_END) };
    }
    if has(new, "Denied") || has(new, "Failed") {
        let fields = status.value().and_then(Value::as_object).into_iter().flatten();
        let has_others = fields.into_iter().any(|(name, value)| name != "conditions" && !value.is_null());
        return if has_others { refused(ONLY_CONDITIONS) } else { errors };
    }
    if has(new, "Issued") {
        if let Err(found) = check_issued(&status, old) {
            errors.append(found);
        }
        return errors;
    }
    if is_same { errors } else { refused(NO_END) }
}

fn has(request: &Object, condition: &str) -> bool {
    conditions::is_true(request, condition)
}

/// Checks that there is at most one condition, of a known type, and that it is true. The paths of errors write the index as
/// a name, as in Kubernetes.
fn check_conditions(stated: &List<Condition<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = false;
    for (index, condition) in stated.elements().enumerate() {
        let place = |field: &str| {
            FieldPath::new("status").child("conditions").child(&format!("[{index}]")).child(field)
        };
        let kind = condition.r#type().text();
        if !FINAL.contains(&kind) {
            errors.push(FieldError::not_supported(place("type"), kind, &["Issued", "Denied", "Failed"]));
            continue;
        }
        if seen {
            errors.push(FieldError::invalid(place("type"), kind, ONE_FINAL));
        }
        seen = true;
        let status = condition.status().text();
        if status != "True" {
            errors.push(FieldError::not_supported(place("status"), status, &["True"]));
        }
    }
    conditions::check(stated, errors);
}

/// Checks the certificates, and the times that the status repeats from the first of them.
fn check_issued(status: &PodCertificateRequestStatus<'_, '_>, old: &Object) -> Result<(), ErrorList> {
    let chain = status.certificate_chain();
    if chain.text().len() > MAX_CHAIN_BYTES {
        return Err(FieldError::too_long(chain.path(), MAX_CHAIN_BYTES).into());
    }
    let refused = |detail: &str| ErrorList::from(chain.invalid_text(detail));
    let mut blocks = pem::blocks(chain.text());
    let first = blocks
        .next()
        .ok_or_else(|| refused("issued certificate chain must contain at least one certificate"))?;
    if first.kind != "CERTIFICATE" {
        return Err(refused("issued certificate chain must consist entirely of CERTIFICATE PEM blocks"));
    }
    let leaf = certificate::parse(&first.bytes)
        .ok_or_else(|| refused("leaf certificate does not parse as valid X.509"))?;
    let mut errors = ErrorList::default();
    check_names(&leaf, &chain, &mut errors);
    if wanted_key(old).is_none_or(|wanted| *wanted != *leaf.public_key().raw) {
        errors.append(refused(OTHER_KEY));
        return Err(errors);
    }
    check_times(status, &leaf, old).map_err(|found| {
        errors.append(found);
        std::mem::take(&mut errors)
    })?;
    for block in blocks {
        if block.kind != "CERTIFICATE" {
            errors.append(refused("issued certificate chain must consist entirely of CERTFICATE PEM blocks"));
            return Err(errors);
        }
        if certificate::parse(&block.bytes).is_none() {
            errors.append(refused("intermediate certificate does not parse as valid X.509"));
            return Err(errors);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns the public key that the request is about, encoded.
fn wanted_key(request: &Object) -> Option<Vec<u8>> {
    let spec = PodCertificateRequest(request).spec();
    let stub = spec.stub_pkcs10_request();
    if stub.text().is_empty() {
        Some(spec.pkix_public_key().bytes())
    } else {
        key::public_key_in_request(&stub.bytes())
    }
}

/// Checks the names of hosts in a certificate.
fn check_names(leaf: &X509Certificate<'_>, chain: &Text<'_, '_>, errors: &mut ErrorList) {
    let Ok(Some(names)) = leaf.subject_alternative_name() else { return };
    for name in &names.value.general_names {
        let GeneralName::DNSName(name) = name else { continue };
        let mut refuse = |detail: &str| errors.push(FieldError::invalid(chain.path(), *name, detail));
        if name.is_empty() {
            refuse("leaf certificate should not contain empty DNSName");
        }
        if name.contains("..") {
            refuse("leaf certificate's DNSName should not contain '..'");
        }
        if name.starts_with('.') || name.ends_with('.') {
            refuse("leaf certificate's DNSName should not start or end with '.'");
        }
    }
}

/// Checks that the times in the status are those of the certificate, and its lifetime.
fn check_times(
    status: &PodCertificateRequestStatus<'_, '_>,
    leaf: &X509Certificate<'_>,
    old: &Object,
) -> Result<(), ErrorList> {
    let [not_before, not_after, refresh] =
        [status.not_before(), status.not_after(), status.begin_refresh_at()];
    let times = (time(&not_before), time(&not_after), time(&refresh));
    let (Some(starts), Some(ends), Some(refreshed)) = times else {
        return Err(missing_times(&[not_before, not_after, refresh]));
    };
    let refused = |field: &View<'_, '_>, detail: &str| Err(field.invalid(detail).into());
    let (leaf_starts, leaf_ends) =
        (leaf.validity().not_before.timestamp(), leaf.validity().not_after.timestamp());
    if starts.as_second() != leaf_starts {
        return refused(&not_before, "must be set to the NotBefore time encoded in the leaf certificate");
    }
    if starts.duration_since(Timestamp::now().into()).abs() >= SKEW {
        return refused(&not_before, "must be set to within 5 minutes of kube-apiserver's current time");
    }
    if ends.as_second() != leaf_ends {
        return refused(&not_after, "must be set to the NotAfter time encoded in the leaf certificate");
    }
    let lifetime = ends.duration_since(starts);
    let chain = status.certificate_chain();
    if lifetime < LEAST_LIFETIME {
        return refused(&chain, "leaf certificate lifetime must be >= 1 hour");
    }
    let most = PodCertificateRequest(old).spec().max_expiration_seconds().number();
    if lifetime.as_secs() > most {
        let detail = format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})");
        return refused(&chain, &detail);
    }
    if refreshed.duration_since(starts) < REFRESH_MARGIN {
        return refused(&refresh, "must be at least 10 minutes after status.notBefore");
    }
    if ends.duration_since(refreshed) < REFRESH_MARGIN {
        return refused(&refresh, "must be at least 10 minutes before status.notAfter");
    }
    Ok(())
}

fn time(field: &Time<'_, '_>) -> Option<Moment> {
    Moment::parse(field.text(), Layout::Seconds).ok()
}

fn missing_times(fields: &[Time<'_, '_>; 3]) -> ErrorList {
    const CONSISTENT: &str = "must be present and consistent with the issued certificate";
    const IN_RANGE: &str = "must be present and in the range [notbefore+10min, notafter-10min]";
    let mut errors = ErrorList::default();
    for (field, detail) in fields.iter().zip([CONSISTENT, CONSISTENT, IN_RANGE]) {
        if time(field).is_none() {
            errors.push(field.required(detail));
        }
    }
    errors
}
