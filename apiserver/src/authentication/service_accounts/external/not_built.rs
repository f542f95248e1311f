//! The place of programs that sign tokens in a server without the feature `external-signer`: the flag is refused.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use super::keys::VerifyingKey;
use crate::metrics::ExternalSignerMetrics;
use crate::options::ServiceAccountOptions;

/// No program: it has no values.
pub(crate) struct ExternalSigner {
    pub(super) max_lifetime_seconds: i64,
    none: std::convert::Infallible,
}

/// A program is configured, but the client of it is not a part of this one. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error(
    "--service-account-signing-endpoint: this server was built without programs that sign tokens: build `apiserver` with \
     the feature `external-signer`"
)]
pub struct ExternalSignerError;

// === impl ExternalSigner ===

impl ExternalSigner {
    /// Refuses an endpoint.
    pub(crate) fn start(
        options: &ServiceAccountOptions,
        _metrics: &ExternalSignerMetrics,
    ) -> Ready<Result<Option<Arc<Self>>, ExternalSignerError>> {
        ready(match options.service_account_signing_endpoint {
            Some(_) => Err(ExternalSignerError),
            None => Ok(None),
        })
    }

    pub(super) fn sign(&self, _claims: &[u8]) -> Ready<Result<String, ExternalSignerError>> {
        match self.none {}
    }

    pub(super) fn named(&self, _id: &str) -> Ready<Arc<KeySet>> {
        match self.none {}
    }

    pub(super) fn keys(&self) -> Arc<KeySet> {
        match self.none {}
    }
}

/// No keys: it has no values.
pub(super) enum KeySet {}

// === impl KeySet ===

impl KeySet {
    pub(super) fn fitting(&self, _id: Option<&str>) -> std::iter::Empty<&VerifyingKey> {
        match *self {}
    }

    pub(super) fn published(&self) -> Vec<VerifyingKey> {
        match *self {}
    }

    pub(super) fn until_refresh(&self) -> Duration {
        match *self {}
    }
}
