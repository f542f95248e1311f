//! Rules of ClusterTrustBundles.

use std::collections::BTreeMap;

use registry_core::RequestContext;
use registry_core::api::validation::names;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::Text;
use resource_views::certificates::v1beta1::ClusterTrustBundle;

use crate::api::certificates::{certificate, pem, signers};

/// Maximum size of a bundle, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The text that errors show instead of a bundle.
const OMITTED: &str = "<value omitted>";

/// The name of a bundle begins with the name of its signer. A bundle contains certificates of authorities only.
pub(super) struct ClusterTrustBundleStrategy;

impl ObjectStrategy for ClusterTrustBundleStrategy {
    // The names of signers contain colons.
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check(object, &mut errors);
        check_bundle(&ClusterTrustBundle(object).spec().trust_bundle(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check(new, &mut errors);
        let spec = ClusterTrustBundle(new).spec();
        let before = ClusterTrustBundle(old).spec();
        let bundle = spec.trust_bundle();
        if bundle.text() != before.trust_bundle().text() {
            check_bundle(&bundle, &mut errors);
        }
        spec.signer_name().check_immutable(&before.signer_name(), &mut errors);
        errors
    }
}

fn check(object: &Object, errors: &mut ErrorList) {
    let spec = ClusterTrustBundle(object).spec();
    let signer = spec.signer_name();
    for complaint in name_complaints(object.name(), signer.text()) {
        errors.push(FieldError::invalid(FieldPath::new("metadata").child("name"), object.name(), complaint));
    }
    if !signer.text().is_empty() {
        signers::check(&signer, errors);
    }
}

/// Returns what is wrong with the name of a bundle; `signer` is empty if it has none.
pub(crate) fn name_complaints(name: &str, signer: &str) -> Vec<String> {
    if signer.is_empty() {
        return if name.contains(':') {
            vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()]
        } else {
            names::dns_subdomain(name)
        };
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => names::dns_subdomain(rest),
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
    }
}

/// Checks that a bundle contains at least one certificate of an authority, and each once.
fn check_bundle(bundle: &Text<'_, '_>, errors: &mut ErrorList) {
    if bundle.text().len() > MAX_BYTES {
        errors.push(FieldError::too_long(bundle.path(), MAX_BYTES));
        return;
    }
    let mut entries: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut complaints = Vec::new();
    for (index, block) in pem::blocks(bundle.text()).enumerate() {
        match entry_complaint(&block) {
            Some(complaint) => complaints.push(format!("entry {index} {complaint}")),
            None => entries.entry(block.bytes).or_default().push(index),
        }
    }
    if complaints.is_empty() && entries.is_empty() {
        complaints.push("at least one trust anchor must be provided".to_owned());
    } else if complaints.is_empty() {
        for indices in entries.values().filter(|indices| indices.len() > 1) {
            let shown: Vec<String> = indices.iter().map(usize::to_string).collect();
            complaints.push(format!("duplicate trust anchor (indices [{}])", shown.join(" ")));
        }
    }
    for complaint in complaints {
        errors.push(FieldError::invalid(bundle.path(), OMITTED, complaint));
    }
}

fn entry_complaint(block: &pem::Block<'_>) -> Option<String> {
    if block.kind != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.kind));
    }
    if block.has_headers {
        return Some("has PEM block headers".to_owned());
    }
    match certificate::is_authority(&block.bytes) {
        None => Some("does not parse as X.509".to_owned()),
        Some(false) => Some("does not have the CA bit set".to_owned()),
        Some(true) => None,
    }
}
