//! Validates how objects are converted between versions.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::validation::{ErrorList, names as formats};
use resource_views::apiextensions::v1::{CustomResourceConversion, ServiceReference, WebhookClientConfig};
use resource_views::{List, Text};
use serde_json::Value;
use x509_parser::pem::Pem;

use crate::support::port_number;
use crate::support::webhook_client;

use super::super::findings::{Findings, Place};
use super::super::view::Spec;
use super::Options;

const UNUSED: &str = "should not be set when strategy is not set to Webhook";

/// The versions of reviews that the server speaks.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Checks the conversion.
pub(super) fn check(spec: &Spec<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    let conversion = spec.written.conversion();
    if !conversion.exists() {
        return;
    }
    let strategy = conversion.strategy().text();
    let strategy_place = place.child("strategy");
    if strategy != "None" && spec.preserves_unknown_fields() {
        findings.invalid(&strategy_place, strategy, "must be None if spec.preserveUnknownFields is true");
    }
    findings.check_word(&strategy_place, strategy, &["None", "Webhook"]);
    let webhook = conversion.webhook();
    let client = webhook.client_config();
    let versions = webhook.conversion_review_versions();
    let client_place = place.child("webhookClientConfig");
    let versions_place = place.child("conversionReviewVersions");
    if strategy == "Webhook" {
        if client.exists() {
            check_client(&client, options, &client_place, findings);
        } else {
            findings.required(&client_place, "required when strategy is set to Webhook");
        }
        check_review_versions(&versions, options.review_version_is_known, &versions_place, findings);
        return;
    }
    if client.exists() {
        findings.forbidden(&client_place, UNUSED);
    }
    if !versions.is_empty() {
        findings.forbidden(&versions_place, UNUSED);
    }
}

/// Whether a conversion's webhook understands a version of reviews that the server speaks, or names none.
pub(super) fn knows_review_version(conversion: &CustomResourceConversion<'_, '_>) -> bool {
    let webhook = conversion.webhook();
    let versions = webhook.conversion_review_versions();
    versions.is_empty() || versions.texts().any(is_review_version)
}

fn is_review_version(version: &str) -> bool {
    REVIEW_VERSIONS.contains(&version)
}

fn check_client(
    client: &WebhookClientConfig<'_, '_>,
    options: &Options<'_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let mut errors = ErrorList::default();
    match (client.url().exists(), client.service().exists()) {
        (true, true) | (false, false) => {
            findings.required(place, "exactly one of url or service is required");
        }
        (true, false) => {
            let path = place.child("url").path().clone();
            webhook_client::check_url(&path, client.url().text(), &mut errors);
        }
        (false, true) => check_service(&client.service(), &place.child("service"), findings),
    }
    findings.append(place, errors);
    let bundle = client.ca_bundle().text();
    if !options.allows_bad_bundle
        && let Some(reason) = why_bad_bundle(bundle)
    {
        findings.invalid(&place.child("caBundle"), bundle, reason);
    }
}

fn check_service(service: &ServiceReference<'_, '_>, place: &Place, findings: &mut Findings<'_>) {
    // As in Kubernetes, each error names the other field.
    for (text, other) in [(service.namespace().text(), "name"), (service.name().text(), "namespace")] {
        if text.is_empty() {
            findings.required(&place.child(other), "");
        }
    }
    let port = service.port();
    if let Some(complaint) = port_number::called_service_complaint(port.number()) {
        let shown = port.value().cloned().unwrap_or_else(|| Value::from(0));
        findings.invalid_value(&place.child("port"), Some(&shown), &complaint);
    }
    let mut errors = ErrorList::default();
    let path = place.child("path");
    webhook_client::check_service_path(path.path(), service.path().text(), &mut errors);
    findings.append(&path, errors);
}

fn check_review_versions(
    versions: &List<Text<'_, '_>>,
    must_know: bool,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    if versions.is_empty() {
        findings.required(place, "");
        return;
    }
    let mut seen = HashSet::new();
    for (index, text) in versions.texts().enumerate() {
        let place = place.index(index);
        if !seen.insert(text) {
            findings.invalid(&place, text, "duplicate version");
            continue;
        }
        for complaint in formats::dns_1035_label(text) {
            findings.invalid(&place, text, complaint);
        }
    }
    if must_know && !versions.texts().any(is_review_version) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        findings.invalid_value(place, versions.value(), &detail);
    }
}

/// Returns why certificates cannot be read; `None` if they can, or there are none.
pub(super) fn why_bad_bundle(bundle: &str) -> Option<&'static str> {
    if bundle.is_empty() {
        return None;
    }
    let unparsable = "unable to load root certificates: unable to parse bytes as PEM block";
    let Ok(bytes) = STANDARD.decode(bundle) else { return Some(unparsable) };
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
    Some(if any { reason } else { unparsable })
}
