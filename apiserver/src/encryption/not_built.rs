//! The place of encryption at rest in a program without the feature `encryption`: the flag is refused.

use std::future::{Ready, ready};
use std::path::Path;
use std::sync::Arc;

use registry_core::api::GroupResource;
use registry_core::storage::transform::Transformer;

use crate::health::Check;

mod services;

pub(crate) use services::Services;

/// Encryption is configured, but not a part of this program. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error(
    "--encryption-provider-config: this server was built without encryption at rest: build `apiserver` with the feature \
     `encryption`"
)]
pub struct EncryptionError;

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
