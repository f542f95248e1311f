//! A client of key management services of version 1.
//!
//! Kubernetes concept: `k8s.io/kms/apis/v1beta1`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::metrics::TransformMetrics;
use registry_core::storage::transform::kms::ServiceError;
use registry_core::storage::transform::kms_v1::EnvelopeService;

use super::kms::{EndpointError, KmsClient};

const VERSION: &str = "/v1beta1.KeyManagementService/Version";
const ENCRYPT: &str = "/v1beta1.KeyManagementService/Encrypt";
const DECRYPT: &str = "/v1beta1.KeyManagementService/Decrypt";

/// The version of the API that services must have.
const API_VERSION: &str = "v1beta1";

/// Maximum length of a service's text in a message, in characters.
const MAX_SHOWN_CHARS: usize = 1_024;

/// A client of one service.
pub(super) struct KmsV1Client {
    client: KmsClient,
    /// Whether the service has said that it has the right version.
    is_checked: AtomicBool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct VersionRequest {
    #[prost(string, tag = "1")]
    version: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct VersionResponse {
    #[prost(string, tag = "1")]
    version: String,
}

/// A request to encrypt or to decrypt bytes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct BytesRequest {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

/// The encrypted or decrypted bytes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct BytesResponse {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

/// Error of a service whose version is not that of the client, with Kubernetes' texts. Retryable.
#[derive(Debug, thiserror::Error)]
enum VersionError {
    #[error("failed get version from remote KMS provider: {0}")]
    Unknown(#[source] ServiceError),
    #[error("KMS provider api version {0} is not supported, only {API_VERSION} is supported now")]
    Unsupported(String),
}

// === impl KmsV1Client ===

impl KmsV1Client {
    /// Creates a client of the service at an endpoint, as [`KmsClient::new`] does.
    ///
    /// # Errors
    /// Fails if the endpoint is not a Unix socket's.
    pub(super) fn new(
        endpoint: &str,
        timeout: Duration,
        metrics: TransformMetrics,
    ) -> Result<Self, EndpointError> {
        let client = KmsClient::new(endpoint, timeout, metrics)?;
        Ok(Self { client, is_checked: AtomicBool::new(false) })
    }

    /// Calls a method; before the first, checks the version of the service.
    async fn call(&self, method: &'static str, bytes: &[u8]) -> Result<Vec<u8>, ServiceError> {
        let version = || API_VERSION.to_owned();
        if !self.is_checked.load(Ordering::Relaxed) {
            let answered = self.client.call(VERSION, VersionRequest { version: version() }).await;
            let VersionResponse { version } =
                answered.map_err(|error| VersionError::Unknown(error.into()))?;
            if version != API_VERSION {
                return Err(VersionError::Unsupported(version.chars().take(MAX_SHOWN_CHARS).collect()).into());
            }
            self.is_checked.store(true, Ordering::Relaxed);
        }
        let request = BytesRequest { version: version(), bytes: bytes.to_vec() };
        let BytesResponse { bytes } = self.client.call(method, request).await?;
        Ok(bytes)
    }
}

#[async_trait]
impl EnvelopeService for KmsV1Client {
    async fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, ServiceError> {
        self.call(ENCRYPT, plain).await
    }

    async fn decrypt(&self, encrypted: &[u8]) -> Result<Vec<u8>, ServiceError> {
        self.call(DECRYPT, encrypted).await
    }
}
