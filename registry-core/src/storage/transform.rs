//! What a value looks like at rest.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value`,
//! [encryption at rest](https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/).

use async_trait::async_trait;
use bytes::Bytes;

/// Turns plain values into what is kept, and back.
///
/// The context is the value's whole key. A transformer that encrypts authenticates it, so that a value moved
/// to another key does not decrypt.
///
/// Kubernetes concept: `value.Transformer`.
#[async_trait]
pub trait Transformer: Send + Sync + 'static {
    /// Reads a value at rest.
    #[allow(
        clippy::wrong_self_convention,
        reason = "the storage is where the value comes from, not what is made"
    )]
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError>;

    /// Makes a value fit to be kept.
    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError>;
}

/// A value read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The value.
    pub value: Bytes,
    /// Whether it would be written differently today (under an older key, or none): a write of equal bytes
    /// must then really be made.
    pub stale: bool,
}

/// A value that cannot be transformed: it was damaged, moved, or written under a key not known here.
/// Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformError(pub String);

/// Values are kept as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

/// What every encrypting transformer's values begin with, here and in kube-apiserver.
const ENCRYPTED_PREFIX: &[u8] = b"k8s:enc:";

// === impl Identity ===

#[async_trait]
impl Transformer for Identity {
    async fn from_storage(&self, stored: Bytes, _context: &str) -> Result<Plain, TransformError> {
        if stored.starts_with(ENCRYPTED_PREFIX) {
            return Err(TransformError("identity transformer tried to read encrypted data".to_owned()));
        }
        Ok(Plain { value: stored, stale: false })
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn identity_changes_nothing_and_refuses_what_is_encrypted() {
        let value = Bytes::from_static(b"{}");
        assert_eq!(Identity.to_storage(value.clone(), "/k").await, Ok(value.clone()));
        assert_eq!(Identity.from_storage(value.clone(), "/k").await, Ok(Plain { value, stale: false }));
        let encrypted = Bytes::from_static(b"k8s:enc:aesgcm:v1:key:0123");
        assert!(Identity.from_storage(encrypted, "/k").await.is_err());
    }
}
