//! The rules for an issuer's own fields, and for the keys of extra attributes.

use std::collections::HashSet;

use http::Uri;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::configuration::IssuerConfig;

/// The networks in which an issuer can be; none if no proxy is to be used.
const EGRESS_SELECTOR_TYPES: [&str; 3] = ["", "controlplane", "cluster"];
/// The only policy by which audiences are compared.
const MATCH_ANY: &str = "MatchAny";

/// Checks an issuer. `disallowed` are the issuers of service accounts' tokens.
pub(super) fn check_issuer(issuer: &IssuerConfig, disallowed: &[String], path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    let url_path = path.child("url");
    if issuer.url.is_empty() {
        errors.push(FieldError::required(url_path, ""));
    } else {
        if disallowed.contains(&issuer.url) {
            let detail = format!("URL must not overlap with disallowed issuers: [{}]", disallowed.join(" "));
            errors.push(FieldError::invalid(url_path.clone(), issuer.url.clone(), detail));
        }
        errors.append(check_url(&issuer.url, &url_path));
    }
    if !issuer.discovery_url.is_empty() {
        let path = path.child("discoveryURL");
        let is_same = issuer.url.trim_end_matches('/') == issuer.discovery_url.trim_end_matches('/');
        if !issuer.url.is_empty() && is_same {
            let detail = "discoveryURL must be different from URL";
            errors.push(FieldError::invalid(path.clone(), issuer.discovery_url.clone(), detail));
        }
        errors.append(check_url(&issuer.discovery_url, &path));
    }
    errors.append(check_audiences(issuer, path));
    let bundle = issuer.certificate_authority.as_bytes();
    if !bundle.is_empty() && !CertificateDer::pem_slice_iter(bundle).all(|certificate| certificate.is_ok()) {
        let error = FieldError::invalid(
            path.child("certificateAuthority"),
            "",
            "data does not contain any valid RSA or ECDSA certificates",
        );
        errors.push(error.shown_as("\"<omitted>\""));
    }
    if !EGRESS_SELECTOR_TYPES.contains(&&*issuer.egress_selector_type) {
        let detail = "egress selector must be either controlplane or cluster";
        let path = path.child("egressSelectorType");
        errors.push(FieldError::invalid(path, issuer.egress_selector_type.clone(), detail));
    }
    errors
}

fn check_url(url: &str, path: &FieldPath) -> ErrorList {
    let invalid = |detail: &str| FieldError::invalid(path.clone(), url, detail);
    let before_fragment = url.split('#').next().unwrap_or_default();
    let uri: Uri = match before_fragment.parse() {
        Ok(uri) => uri,
        Err(error) => return invalid(&error.to_string()).into(),
    };
    let mut errors = ErrorList::default();
    if uri.scheme_str() != Some("https") {
        errors.push(invalid("URL scheme must be https"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        errors.push(invalid("URL must not contain a username or password"));
    }
    if uri.query().is_some_and(|query| !query.is_empty()) {
        errors.push(invalid("URL must not contain a query"));
    }
    if url.len() > before_fragment.len() + 1 {
        errors.push(invalid("URL must not contain a fragment"));
    }
    errors
}

fn check_audiences(issuer: &IssuerConfig, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    let audiences = path.child("audiences");
    if issuer.audiences.is_empty() {
        let detail = format!("at least one {audiences} is required");
        return FieldError::required(audiences, detail).into();
    }
    let mut known = HashSet::new();
    for (index, audience) in issuer.audiences.iter().enumerate() {
        if audience.is_empty() {
            errors.push(FieldError::required(audiences.index(index), ""));
        }
        if !known.insert(audience) {
            errors.push(FieldError::duplicate(audiences.index(index), audience.clone()));
        }
    }
    let policy = issuer.audience_match_policy.as_str();
    let detail = match issuer.audiences.len() {
        _ if policy == MATCH_ANY => return errors,
        1 if policy.is_empty() => return errors,
        1 => "audienceMatchPolicy must be empty or MatchAny for single audience",
        _ => "audienceMatchPolicy must be MatchAny for multiple audiences",
    };
    errors.push(FieldError::invalid(path.child("audienceMatchPolicy"), policy, detail));
    errors
}

/// Checks the key of an extra attribute.
pub(super) fn check_extra_key(key: &str, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    if key.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    let problems = if key.is_empty() { Vec::new() } else { names::domain_prefixed_path(key) };
    for problem in problems {
        errors.push(FieldError::invalid(path.clone(), key, problem));
    }
    if key.chars().any(char::is_uppercase) {
        errors.push(FieldError::invalid(path.clone(), key, "must be lowercase"));
    }
    let domain = key.split_once('/').map(|(domain, _)| domain).unwrap_or_default();
    let is_reserved =
        |own: &str| domain == own || domain.strip_suffix(own).is_some_and(|rest| rest.ends_with('.'));
    if is_reserved("kubernetes.io") || is_reserved("k8s.io") {
        let detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
        errors.push(FieldError::invalid(path.clone(), key, detail));
    }
    errors
}
