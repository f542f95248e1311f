//! A client of key management services: gRPC over a Unix socket.
//!
//! Kubernetes concept: `k8s.io/kms/apis/v2`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use clients::unix_grpc::{GrpcError, UnixGrpc};
use registry_core::metrics::TransformMetrics;
use registry_core::storage::transform::kms::{KmsCiphertext, KmsService, KmsStatus, ServiceError};

const STATUS: &str = "/v2.KeyManagementService/Status";
const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";
const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";

/// A client of one service.
pub(super) struct KmsClient {
    grpc: UnixGrpc,
    timeout: Duration,
    metrics: TransformMetrics,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct StatusRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct StatusResponse {
    #[prost(string, tag = "1")]
    pub(super) version: String,
    #[prost(string, tag = "2")]
    pub(super) healthz: String,
    #[prost(string, tag = "3")]
    pub(super) key_id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) uid: String,
    #[prost(string, tag = "3")]
    pub(super) key_id: String,
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(super) annotations: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) plaintext: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) plaintext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) uid: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) key_id: String,
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(super) annotations: BTreeMap<String, Vec<u8>>,
}

/// Error of the address of a service. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error("unsupported endpoint {0:?}")]
    Unsupported(String),
    #[error("endpoint {0:?} names no socket")]
    NoSocket(String),
}

// === impl KmsClient ===

impl KmsClient {
    /// Creates a client of the service at `unix:///path`, or `unix:///@name` for an abstract socket. Must be called
    /// within a Tokio runtime.
    ///
    /// # Errors
    /// Fails if the endpoint is not a Unix socket's.
    pub(super) fn new(
        endpoint: &str,
        timeout: Duration,
        metrics: TransformMetrics,
    ) -> Result<Self, EndpointError> {
        let rest =
            endpoint.strip_prefix("unix:").ok_or_else(|| EndpointError::Unsupported(endpoint.to_owned()))?;
        let path = rest.strip_prefix("//").unwrap_or(rest);
        // Linux: the name of an abstract socket begins with a zero byte.
        let path = path.strip_prefix("/@").map_or_else(|| path.to_owned(), |name| format!("\0{name}"));
        if path.is_empty() {
            return Err(EndpointError::NoSocket(endpoint.to_owned()));
        }
        Ok(Self { grpc: UnixGrpc::new(PathBuf::from(path)), timeout, metrics })
    }

    pub(super) async fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A, GrpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let answered = self.grpc.call(method, request, self.timeout).await;
        self.metrics.called(method, answered.is_ok());
        answered
    }
}

#[async_trait]
impl KmsService for KmsClient {
    async fn status(&self) -> Result<KmsStatus, ServiceError> {
        let StatusResponse { version, healthz, key_id } = self.call(STATUS, StatusRequest {}).await?;
        Ok(KmsStatus { version, healthz, key_id })
    }

    async fn encrypt(&self, uid: &str, plain: &[u8]) -> Result<KmsCiphertext, ServiceError> {
        let request = EncryptRequest { plaintext: plain.to_vec(), uid: uid.to_owned() };
        let EncryptResponse { ciphertext, key_id, annotations } = self.call(ENCRYPT, request).await?;
        Ok(KmsCiphertext { ciphertext, key_id, annotations })
    }

    async fn decrypt(&self, uid: &str, encrypted: &KmsCiphertext) -> Result<Vec<u8>, ServiceError> {
        let KmsCiphertext { ciphertext, key_id, annotations } = encrypted.clone();
        let request = DecryptRequest { ciphertext, uid: uid.to_owned(), key_id, annotations };
        let DecryptResponse { plaintext } = self.call(DECRYPT, request).await?;
        Ok(plaintext)
    }
}
