//! Volumes that combine several sources.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{
    ClusterTrustBundleProjection, DownwardAPIProjection, KeyToPath, PodCertificateProjection,
    ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeProjection,
};
use resource_views::{List, Text, View};

use super::text_rules::{self, check_file_mode};
use super::{Options, files};
use crate::api::certificates::{clustertrustbundles, podcertificaterequests, signers};
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;

const LEAST_TOKEN_SECONDS: i64 = 10 * 60;
const MOST_TOKEN_SECONDS: i64 = 1 << 32;
const LEAST_CERTIFICATE_SECONDS: i64 = 60 * 60;
const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// Checks the sources of a volume, whose files must have different paths.
pub(super) fn check(volume: &ProjectedVolumeSource<'_, '_>, options: &Options, errors: &mut ErrorList) {
    check_file_mode(&volume.default_mode(), errors);
    let mut paths = HashSet::new();
    for source in volume.sources().elements() {
        let (secret, map) = (source.secret(), source.config_map());
        let (downward, token) = (source.downward_api(), source.service_account_token());
        let (bundle, certificate) = (source.cluster_trust_bundle(), source.pod_certificate());
        if secret.exists() {
            check_data(volume, &secret.name(), &secret.items(), &mut paths, errors);
        }
        if map.exists() {
            check_data(volume, &map.name(), &map.items(), &mut paths, errors);
        }
        if downward.exists() {
            check_downward_api(volume, &downward, &mut paths, errors);
        }
        if token.exists() {
            check_token(volume, &token, options, errors);
        }
        if bundle.exists() {
            check_trust_bundle(&bundle, errors);
            check_unused(volume, &bundle.path(), &mut paths, errors);
        }
        if certificate.exists() {
            check_certificate(volume, &certificate, &mut paths, errors);
        }
        let sources = [*secret, *map, *downward, *token, *bundle, *certificate];
        if sources.iter().filter(|source| source.exists()).count() > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

fn check_data<'v>(
    volume: &View<'_, '_>,
    name: &Text<'_, '_>,
    items: &List<KeyToPath<'v, '_>>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    name.check_present(errors);
    for item in items.elements() {
        files::check_item(&item, errors);
        let path = item.path().text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, name.text()));
        }
    }
}

fn check_downward_api<'v>(
    volume: &View<'_, '_>,
    source: &DownwardAPIProjection<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    for file in source.items().elements() {
        files::check_downward_file(source, &file, errors);
        let path = file.path().text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, path));
        }
    }
}

/// Checks that no other source has a file at a path.
fn check_unused<'v>(
    volume: &View<'_, '_>,
    path: &Text<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    if !paths.insert(path.text()) {
        errors.push(conflict(volume, path.text()));
    }
}

fn conflict(volume: &View<'_, '_>, value: &str) -> FieldError {
    FieldError::invalid(volume.path(), value, "conflicting duplicate paths")
}

/// Checks the token of a service account. Errors about its path are reported at the volume.
fn check_token(
    volume: &View<'_, '_>,
    token: &ServiceAccountTokenProjection<'_, '_>,
    options: &Options,
    errors: &mut ErrorList,
) {
    let seconds = token.expiration_seconds();
    if seconds.number() < LEAST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
    }
    if seconds.number() > MOST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
    }
    let path = token.path().text();
    let reported = volume.path().child("path");
    if path.is_empty() {
        errors.push(FieldError::required(reported, ""));
    } else if !options.tolerates_non_local_token_paths {
        for complaint in text_rules::unreserved_path(path) {
            errors.push(FieldError::invalid(reported.clone(), path, complaint));
        }
    }
}

/// Checks the trust anchors of one bundle, or of all bundles of a signer.
fn check_trust_bundle(bundle: &ClusterTrustBundleProjection<'_, '_>, errors: &mut ErrorList) {
    let (name, signer, selector) = (bundle.name(), bundle.signer_name(), bundle.label_selector());
    match (name.exists(), signer.exists()) {
        (true, true) => {
            let detail = "only one of name and signerName may be used";
            errors.push(bundle.invalid_as("<core.ClusterTrustBundleProjection>", detail));
        }
        (true, false) => {
            if name.text().is_empty() {
                errors.push(name.required("must be a valid object name"));
            }
            let signer = name.text().rsplit_once(':').map(|(signer, _)| signer.replace(':', "/"));
            for complaint in clustertrustbundles::name_complaints(name.text(), &signer.unwrap_or_default()) {
                errors.push(name.invalid(format!("not a valid clustertrustbundlename: {complaint}")));
            }
            if selector.exists() {
                let detail = "labelSelector must be unset if name is specified";
                errors.push(selector.invalid_as("<metav1.LabelSelector>", detail));
            }
        }
        (false, true) => {
            if signer.text().is_empty() {
                errors.push(signer.required("must be a valid signer name"));
            }
            signers::check(&signer, errors);
            label_selector::check(&selector, errors);
        }
        (false, false) => errors.push(bundle.required("either name or signerName must be specified")),
    }
    bundle.path().check_named(text_rules::unreserved_path, errors);
}

/// Checks a certificate for the pod, which is written to one file with its key or to two files.
fn check_certificate<'v>(
    volume: &View<'_, '_>,
    certificate: &PodCertificateProjection<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    let signer = certificate.signer_name();
    signers::check(&signer, errors);
    podcertificaterequests::check_annotations(&certificate.user_annotations(), errors);
    let key_type = certificate.key_type();
    if !KEY_TYPES.contains(&key_type.text()) {
        errors.push(FieldError::not_supported(key_type.path(), key_type.text(), &KEY_TYPES));
    }
    let seconds = certificate.max_expiration_seconds();
    let most_seconds = podcertificaterequests::most_seconds(signer.text());
    let complaint = match seconds.integer() {
        Some(..LEAST_CERTIFICATE_SECONDS) => Some(format!(">= {LEAST_CERTIFICATE_SECONDS}")),
        Some(wanted) if wanted > most_seconds => Some(format!("<= {most_seconds}")),
        _ => None,
    };
    if let Some(complaint) = complaint {
        errors.push(seconds.invalid(format!("if provided, maxExpirationSeconds must be {complaint}")));
    }
    let files =
        [certificate.credential_bundle_path(), certificate.key_path(), certificate.certificate_chain_path()];
    if files.iter().all(|file| file.text().is_empty()) {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.push(certificate.required(detail));
    }
    for file in files.iter().filter(|file| !file.text().is_empty()) {
        file.check(text_rules::unreserved_path, errors);
        check_unused(volume, file, paths, errors);
    }
}

/// Whether the path of a token in a volume leaves the volume.
pub(in crate::api::core::pod_spec::validation) fn has_non_local_token_path(
    volumes: &List<Volume<'_, '_>>,
) -> bool {
    let is_bad = |source: VolumeProjection<'_, '_>| {
        let token = source.service_account_token();
        token.exists() && !text_rules::unreserved_path(token.path().text()).is_empty()
    };
    volumes.elements().any(|volume| volume.projected().sources().elements().any(is_bad))
}
