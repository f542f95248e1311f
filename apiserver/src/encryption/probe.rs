//! The health of a key management service.
//!
//! Kubernetes concept: `kmsPluginProbe` in `k8s.io/apiserver/pkg/server/options/encryptionconfig`.

use std::sync::Arc;
use std::time::Duration;

use registry_core::storage::transform::kms::{Kms, KmsError};
use registry_core::storage::transform::kms_v1::KmsV1;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Time for which a success, and a failure, is the answer without another call.
const SUCCESS_TTL: Duration = Duration::from_secs(20);
const FAILURE_TTL: Duration = Duration::from_secs(3);

/// A service.
#[derive(Clone)]
pub(super) enum Service {
    /// Of version 1.
    V1(Arc<KmsV1>),
    /// Of version 2.
    V2(Arc<Kms>),
}

/// A service with the result of its last check.
pub(super) struct Probe {
    service: Service,
    last: Mutex<Option<Checked>>,
}

/// The result of a check.
struct Checked {
    at: Instant,
    failure: Option<Arc<KmsError>>,
}

/// The failure of a check. One that was made before is shown without its stage, as in Kubernetes.
#[derive(Debug)]
pub(super) struct ProbeError {
    error: Arc<KmsError>,
    is_earlier: bool,
}

// === impl Probe ===

impl Probe {
    pub(super) fn new(service: Service) -> Self {
        Self { service, last: Mutex::const_new(None) }
    }

    /// Whether the service has to be checked regularly, because the key of writes depends on its state.
    pub(super) const fn needs_checks(&self) -> bool {
        matches!(self.service, Service::V2(_))
    }

    /// Checks the service, unless this was done just before.
    pub(super) async fn check(&self) -> Result<(), ProbeError> {
        let mut last = self.last.lock().await;
        if let Some(Checked { at, failure }) = &*last {
            let ttl = if failure.is_some() { FAILURE_TTL } else { SUCCESS_TTL };
            if at.elapsed() < ttl {
                return failure.clone().map_or(Ok(()), |error| Err(ProbeError { error, is_earlier: true }));
            }
        }
        let checked = match &self.service {
            Service::V1(service) => service.check().await,
            Service::V2(service) => service.check().await,
        };
        let failure = checked.err().map(Arc::new);
        *last = Some(Checked { at: Instant::now(), failure: failure.clone() });
        failure.map_or(Ok(()), |error| Err(ProbeError { error, is_earlier: false }))
    }
}

// === impl ProbeError ===

impl std::fmt::Display for ProbeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.error {
            KmsError::Status { source, .. }
            | KmsError::Encrypt { source, .. }
            | KmsError::Decrypt { source, .. }
                if self.is_earlier =>
            {
                source.fmt(formatter)
            }
            error => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ProbeError {}
