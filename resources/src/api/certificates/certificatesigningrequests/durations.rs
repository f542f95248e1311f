//! Counts how often signers honor the requested duration of certificates.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::registry::store::{FinishHook, StoreHooks};
use registry_core::resource::Resource as _;
use resource_views::certificates::v1::CertificateSigningRequest;

use super::CertificateSigningRequests;
use crate::api::certificates::{certificate, pem};
use crate::metrics::ResourceMetrics;

/// Seconds by which certificates are made valid earlier than they are issued.
const BACKDATING_SECONDS: i64 = 300;

/// Counts the certificates that updates of the status contain.
struct DurationCount(ResourceMetrics);

/// A certificate that is issued if the update is committed.
struct Issued {
    metrics: ResourceMetrics,
    signer: String,
    is_honored: bool,
}

/// Counts the certificates that are issued for requests with a duration.
pub fn count_durations(installed: &InstalledApi, metrics: &ResourceMetrics) {
    if let Some(store) = installed.store(CertificateSigningRequests::TYPE) {
        store.attach_hooks(&(Arc::new(DurationCount(metrics.clone())) as Arc<dyn StoreHooks>));
    }
}

#[async_trait]
impl StoreHooks for DurationCount {
    async fn begin_update(
        &self,
        _context: &RequestContext,
        new: &mut Object,
        old: &Object,
        is_status: bool,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        let has_certificate =
            |object: &Object| !CertificateSigningRequest(object).status().certificate().text().is_empty();
        let requested = CertificateSigningRequest(old).spec().expiration_seconds().integer();
        let Some(requested_seconds) = requested.filter(|_| is_status) else { return Ok(None) };
        if has_certificate(old) || !has_certificate(new) {
            return Ok(None);
        }
        Ok(Some(Box::new(Issued {
            metrics: self.0.clone(),
            signer: CertificateSigningRequest(old).spec().signer_name().text().to_owned(),
            is_honored: duration_seconds(new)
                .is_some_and(|actual_seconds| is_honored(requested_seconds, actual_seconds)),
        })))
    }
}

impl FinishHook for Issued {
    fn finish(self: Box<Self>, committed: bool) {
        if committed {
            self.metrics.issued(&self.signer, self.is_honored);
        }
    }
}

/// Returns for how long the first issued certificate is valid.
fn duration_seconds(request: &Object) -> Option<i64> {
    let text = String::from_utf8(CertificateSigningRequest(request).status().certificate().bytes()).ok()?;
    let block = pem::blocks(&text).find(|block| block.kind == "CERTIFICATE" && !block.has_headers)?;
    let validity = certificate::parse(&block.bytes)?.validity().clone();
    Some(validity.not_after.timestamp().saturating_sub(validity.not_before.timestamp()))
}

/// Whether a certificate has about the requested duration.
fn is_honored(requested_seconds: i64, actual_seconds: i64) -> bool {
    let tolerance_seconds = BACKDATING_SECONDS.saturating_add(requested_seconds / 20);
    requested_seconds.abs_diff(actual_seconds) < tolerance_seconds.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_honored_within_five_percent_and_five_minutes() {
        for (requested, actual, expected) in [
            (3600, 3600, true),
            (3600, 3600 + 479, true),
            (3600, 3600 + 480, false),
            (3600, 3600 - 479, true),
            (3600, 3600 - 480, false),
            (600, i64::MIN, false),
            (i64::MAX, 0, false),
        ] {
            assert_eq!(is_honored(requested, actual), expected, "{requested} {actual}");
        }
    }
}
