//! Transformation of values at rest.
//!
//! | module | contents |
//! |---|---|
//! | [`prefix`] | several transformers, by the prefix of their values |
//! | [`aes`], [`secretbox`] | encryption with keys that the server has |
//! | [`kms_v1`] | encryption with keys that a key management service encrypts one by one |
//! | [`kms`] | encryption with keys that a key management service has |
//!
//! Those that encrypt need the feature `encryption`.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value`,
//! [encryption at rest](https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/).

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use registry_meta::go_text::aggregate;

#[cfg(feature = "encryption")]
pub mod aes;
#[cfg(feature = "encryption")]
pub mod kms;
#[cfg(feature = "encryption")]
pub mod kms_v1;
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

    /// Waits until values are converted by another configuration than that with this number, and returns the number of the
    /// one in force; at once without a number. Values that could be read may then no longer be readable. By default there
    /// is one configuration, and this waits forever.
    async fn changed(&self, from: Option<u64>) -> u64 {
        let _ = from;
        std::future::pending().await
    }
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

/// A value cannot be transformed. Kubernetes' texts. Not retryable, except as the variants say.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransformError {
    /// The value is encrypted, and nothing decrypts it. The first part is kube-apiserver's text.
    #[error("identity transformer tried to read encrypted data; give --encryption-provider-config")]
    Encrypted,
    /// The value has the prefix of no transformer: this is the text for it.
    #[error("{0}")]
    NoPrefix(&'static str),
    /// All transformers with the value's prefix fail.
    #[error("{}", aggregate(.0))]
    All(Vec<Self>),
    /// The value is too short to have been encrypted.
    #[error("the stored data was shorter than the required size")]
    TooShort,
    /// The value was damaged, moved, or encrypted with another key.
    #[error("{cipher}: message authentication failed")]
    NotAuthentic {
        /// The cipher.
        cipher: &'static str,
    },
    /// The value is larger than the cipher takes.
    #[error("the value is too large for {cipher}")]
    TooLarge {
        /// The cipher.
        cipher: &'static str,
    },
    /// There is nothing to decrypt.
    #[error("invalid PKCS7 data (empty or not padded)")]
    Empty,
    /// There is a part of a block.
    #[error("the stored data is not a multiple of the block size")]
    PartialBlock,
    /// The end of the value is not as the cipher leaves it.
    #[error("invalid padding on input")]
    Padding,
    /// The operating system has no random bytes. Retryable.
    #[error("unable to read sufficient random bytes")]
    Random,
    /// The key that a service decrypted has a wrong size.
    #[cfg(feature = "encryption")]
    #[error(transparent)]
    KeySize(#[from] aes::KeySizeError),
    /// The seed that a service decrypted has this number of bytes, which are too few.
    #[error("invalid seed length {0} used for key generation")]
    SeedLength(usize),
    /// No key can be derived from a seed.
    #[error("failed to derive a key from the seed")]
    Derivation,
    /// The value is not what a key management service's values are.
    #[cfg(feature = "encryption")]
    #[error(transparent)]
    Object(#[from] kms::ObjectError),
    /// A key management service does not decrypt the seed or key. Retryable.
    #[error("failed to decrypt DEK, error: {0}")]
    Service(Arc<dyn std::error::Error + Send + Sync>),
    /// A call of a key management service fails. Retryable.
    #[error("{0}")]
    Call(Arc<dyn std::error::Error + Send + Sync>),
    /// A value does not begin with the key of a key management service.
    #[error("invalid data encountered by envelope transformer: failed to read uint16 length prefixed data")]
    NoLength,
    /// A key management service has not been healthy yet. Retryable, when it is.
    #[error("KMS provider {name:?} is not ready: {why}")]
    NotReady {
        /// The name of the service.
        name: String,
        /// The failure of the last check.
        why: String,
    },
    /// A key management service was not healthy for too long. Retryable, when it is.
    #[error(
        "KMS provider {name:?}: the encryptedDEKSource has expired, because the service was not healthy for too long"
    )]
    Expired {
        /// The name of the service.
        name: String,
    },
}

/// Stores values unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

/// Prefix of the values of every encrypting transformer, here and in kube-apiserver.
const ENCRYPTED_PREFIX: &[u8] = b"k8s:enc:";

// === impl Identity ===

#[async_trait]
impl Transformer for Identity {
    async fn from_storage(&self, stored: Bytes, _context: &str) -> Result<Plain, TransformError> {
        if stored.starts_with(ENCRYPTED_PREFIX) {
            return Err(TransformError::Encrypted);
        }
        Ok(Plain { value: stored, stale: false })
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        Ok(plain)
    }
}
