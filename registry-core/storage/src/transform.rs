//! Transformation of values at rest.
//!
//! | module | contents |
//! |---|---|
//! | [`prefix`] | several transformers, by the prefix of their values |
//! | [`aes`], [`secretbox`] | encryption with keys that the server has |
//! | [`kms`] | encryption with keys that a key management service has |
//!
//! Those that encrypt need the feature `encryption`.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value`,
//! [encryption at rest](https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/).

use async_trait::async_trait;
use bytes::Bytes;

#[cfg(feature = "encryption")]
pub mod aes;
#[cfg(feature = "encryption")]
pub mod kms;
#[cfg(feature = "encryption")]
pub mod prefix;
#[cfg(feature = "encryption")]
mod random;
#[cfg(feature = "encryption")]
pub mod secretbox;
#[cfg(test)]
#[cfg(feature = "encryption")]
mod tests;

/// Converts values between plain form and the form at rest.
///
/// The context is the value's full key. An encrypting transformer authenticates it, so that a value moved to another
/// key does not decrypt.
///
/// Kubernetes concept: `value.Transformer`.
#[async_trait]
pub trait Transformer: Send + Sync + 'static {
    /// Converts a value at rest into plain form.
    #[allow(
        clippy::wrong_self_convention,
        reason = "the storage is where the value comes from, not what is made"
    )]
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError>;

    /// Converts a plain value into the form at rest.
    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError>;
}

/// A value read from storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The value.
    pub value: Bytes,
    /// Whether a write today would produce a different form at rest (the value was written under an older key, or
    /// none): a write of equal bytes must then not be skipped.
    pub stale: bool,
}

/// A value cannot be transformed: it was damaged, moved, or encrypted with an unknown key. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformError(pub String);

/// Stores values unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

/// Prefix of the values of every encrypting transformer, here and in kube-apiserver.
const ENCRYPTED_PREFIX: &[u8] = b"k8s:enc:";

/// The error of an encrypted value without a key: kube-apiserver's, and what to do.
const UNREADABLE: &str =
    "identity transformer tried to read encrypted data; give --encryption-provider-config";

// === impl Identity ===

#[async_trait]
impl Transformer for Identity {
    async fn from_storage(&self, stored: Bytes, _context: &str) -> Result<Plain, TransformError> {
        if stored.starts_with(ENCRYPTED_PREFIX) {
            return Err(TransformError(UNREADABLE.to_owned()));
        }
        Ok(Plain { value: stored, stale: false })
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        Ok(plain)
    }
}

#[cfg(feature = "encryption")]
/// Returns the error of a value that is too short to have been encrypted.
fn too_short() -> TransformError {
    TransformError("the stored data was shorter than the required size".to_owned())
}
