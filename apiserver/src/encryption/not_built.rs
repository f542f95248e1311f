//! The place of encryption at rest in a program without the feature `encryption`: the flag is refused.

use std::future::{Ready, ready};
use std::path::Path;
use std::sync::Arc;

use registry_core::api::GroupResource;
use registry_core::metrics::TransformMetrics;
use registry_core::storage::transform::Transformer;

use crate::health::Check;

/// Encryption is configured, but not a part of this program. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error(
    "--encryption-provider-config: this server was built without encryption at rest: build `apiserver` with the feature \
     `encryption`"
)]
pub struct EncryptionError;

/// The parameters of clients of key management services.
#[derive(Default)]
#[expect(dead_code, reason = "a configuration is refused before a service is called")]
pub(crate) struct Services {
    pub(crate) kms_v1: bool,
    pub(crate) metrics: TransformMetrics,
}

/// No encryption: it has no values.
pub(crate) enum Encryption {}

/// Refuses a configuration.
pub(crate) fn check(_path: &Path) -> Result<(), EncryptionError> {
    Err(EncryptionError)
}

// === impl Encryption ===

impl Encryption {
    /// Refuses a configuration.
    pub(crate) fn load(
        _path: &Path,
        _reloads: bool,
        _services: Services,
    ) -> Ready<Result<Arc<Self>, EncryptionError>> {
        ready(Err(EncryptionError))
    }

    pub(crate) fn transformer(&self, _resource: GroupResource) -> Arc<dyn Transformer> {
        match *self {}
    }

    pub(crate) const fn reloads(&self) -> bool {
        match *self {}
    }

    pub(crate) fn checks(&self) -> Vec<(String, Arc<dyn Check>)> {
        match *self {}
    }
}
