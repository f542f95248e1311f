//! Names of signers: `example.com/signer-name`.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::Text;

/// Maximum length of the domain of a signer, in bytes.
const MAX_DOMAIN_BYTES: usize = 253;
/// Maximum length of the name of a signer, in bytes.
const MAX_SIGNER_BYTES: usize = 571;

/// Checks a name: a domain of at least two labels, and a path of at least one segment.
pub(crate) fn check(signer: &Text<'_, '_>, errors: &mut ErrorList) {
    if !signer.check_present(errors) {
        return;
    }
    let Some((domain, path)) = signer.text().split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(signer.invalid(detail));
        return;
    };
    if domain.len() > MAX_DOMAIN_BYTES {
        errors.push(FieldError::too_long(signer.path(), MAX_DOMAIN_BYTES));
    }
    check_labels(signer, domain, names::dns_label, errors);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(signer.path(), domain, detail));
    }
    check_labels(signer, path, names::dns_subdomain, errors);
    signer.check_length(MAX_SIGNER_BYTES, errors);
}

/// Checks the labels of a part of a signer's name; only the first bad one is reported.
fn check_labels(
    signer: &Text<'_, '_>,
    part: &str,
    rule: impl Fn(&str) -> Vec<String>,
    errors: &mut ErrorList,
) {
    let complaints = part.split('.').map(|label| (label, rule(label)));
    let bad = complaints.into_iter().find(|(_, complaints)| !complaints.is_empty());
    for (label, complaint) in
        bad.into_iter().flat_map(|(label, all)| all.into_iter().map(move |complaint| (label, complaint)))
    {
        let detail = format!("validating label {label:?}: {complaint}");
        errors.push(FieldError::invalid(signer.path(), part, detail));
    }
}

/// Whether a signer is one of Kubernetes' own.
pub(super) fn is_kubernetes_own(signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}
