//! Validates how objects are converted between versions.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::validation::{ErrorList, names as formats};
use serde_json::Value;
use x509_parser::pem::Pem;

use crate::support::webhook_client;

use super::super::findings::{Findings, Place};
use super::super::view::{self, Spec};
use super::ratcheting::Options;
use super::spec::check_word;

const UNUSED: &str = "should not be set when strategy is not set to Webhook";

/// The versions of reviews that the server speaks.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Checks the conversion.
pub(super) fn check(spec: &Spec<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    let Some(conversion) = spec.get("conversion") else { return };
    let conversion = Some(conversion);
    let strategy = view::text(conversion, "strategy");
    let strategy_place = place.child("strategy");
    if strategy != "None" && spec.preserves_unknown_fields() {
        findings.invalid(&strategy_place, strategy, "must be None if spec.preserveUnknownFields is true");
    }
    check_word(strategy, &["None", "Webhook"], &strategy_place, findings);
    let webhook = view::get(conversion, "webhook");
    let client = view::get(webhook, "clientConfig");
    let versions = view::get(webhook, "conversionReviewVersions");
    let client_place = place.child("webhookClientConfig");
    let versions_place = place.child("conversionReviewVersions");
    if strategy == "Webhook" {
        match client {
            None => findings.required(&client_place, "required when strategy is set to Webhook"),
            client => check_client(client, options, &client_place, findings),
        }
        check_review_versions(versions, options.review_version_is_known, &versions_place, findings);
        return;
    }
    if client.is_some() {
        findings.forbidden(&client_place, UNUSED);
    }
    if versions.and_then(Value::as_array).is_some_and(|versions| !versions.is_empty()) {
        findings.forbidden(&versions_place, UNUSED);
    }
}

/// Whether a conversion's webhook understands a version of reviews that the server speaks, or names none.
pub(super) fn knows_review_version(conversion: Option<&Value>) -> bool {
    let versions = view::list(view::get(conversion, "webhook"), "conversionReviewVersions");
    versions.is_empty() || versions.iter().any(is_review_version)
}

fn is_review_version(version: &Value) -> bool {
    version.as_str().is_some_and(|version| REVIEW_VERSIONS.contains(&version))
}

fn check_client(client: Option<&Value>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    let url = view::get(client, "url");
    let service = view::get(client, "service");
    let mut errors = ErrorList::default();
    match (url, service) {
        (Some(_), Some(_)) | (None, None) => {
            findings.required(place, "exactly one of url or service is required");
        }
        (Some(url), None) => {
            let path = place.child("url").path().clone();
            webhook_client::check_url(&path, url.as_str().unwrap_or_default(), &mut errors);
        }
        (None, service) => check_service(service, &place.child("service"), findings),
    }
    findings.append(place, errors);
    let bundle = view::text(client, "caBundle");
    if !options.allows_bad_bundle
        && let Some(reason) = why_bad_bundle(bundle)
    {
        findings.invalid(&place.child("caBundle"), bundle, reason);
    }
}

fn check_service(service: Option<&Value>, place: &Place, findings: &mut Findings<'_>) {
    for field in ["namespace", "name"] {
        if view::text(service, field).is_empty() {
            // As in Kubernetes, each error names the other field.
            let other = if field == "name" { "namespace" } else { "name" };
            findings.required(&place.child(other), "");
        }
    }
    let port = view::get(service, "port");
    if !port.and_then(Value::as_i64).is_some_and(|port| (1..=65_535).contains(&port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        findings.invalid_value(&place.child("port"), Some(port.unwrap_or(&Value::from(0))), detail);
    }
    let mut errors = ErrorList::default();
    let path = place.child("path");
    webhook_client::check_service_path(path.path(), view::text(service, "path"), &mut errors);
    findings.append(&path, errors);
}

fn check_review_versions(
    versions: Option<&Value>,
    must_know: bool,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let list = versions.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() {
        findings.required(place, "");
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in list.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        let place = place.index(index);
        if !seen.insert(text) {
            findings.invalid(&place, text, "duplicate version");
            continue;
        }
        for complaint in formats::dns_1035_label(text) {
            findings.invalid(&place, text, complaint);
        }
    }
    if must_know && !list.iter().any(is_review_version) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        findings.invalid_value(place, versions, &detail);
    }
}

/// Returns why certificates cannot be read; `None` if they can, or there are none.
pub(super) fn why_bad_bundle(bundle: &str) -> Option<&'static str> {
    if bundle.is_empty() {
        return None;
    }
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let mut reason = "unable to load root certificates: no valid certificate authority data seen";
    let mut any = false;
    for block in Pem::iter_from_buffer(&bytes) {
        let Ok(block) = block else { break };
        any = true;
        if block.label != "CERTIFICATE" {
            continue;
        }
        if block.parse_x509().is_ok() {
            return None;
        }
        reason = "unable to load root certificates: failed to parse certificate: x509: malformed certificate";
    }
    Some(if any { reason } else { "unable to load root certificates: unable to parse bytes as PEM block" })
}
