//! XSalsa20 and Poly1305, as in NaCl's `secretbox`.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value/encrypt/secretbox`.

use async_trait::async_trait;
use bytes::Bytes;
use crypto_secretbox::aead::{Aead as _, KeyInit as _};
use crypto_secretbox::{Nonce, XSalsa20Poly1305};

use super::{Plain, TransformError, Transformer, random};

/// Length of a key, in bytes.
pub const KEY_BYTES: usize = 32;
/// Length of a nonce, in bytes.
const NONCE_BYTES: usize = 24;
/// Length of the authentication of a value, in bytes.
const TAG_BYTES: usize = 16;

/// Encrypts with random nonces. Damaged values are recognized, moved ones are not.
pub struct SecretBox(XSalsa20Poly1305);

// === impl SecretBox ===

impl SecretBox {
    /// Creates a transformer with this key.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(XSalsa20Poly1305::new(key.into()))
    }
}

#[async_trait]
impl Transformer for SecretBox {
    async fn from_storage(&self, stored: Bytes, _context: &str) -> Result<Plain, TransformError> {
        let (nonce, sealed) = stored.split_at_checked(NONCE_BYTES).ok_or(TransformError::TooShort)?;
        if sealed.len() < TAG_BYTES {
            return Err(TransformError::TooShort);
        }
        let opened = self.0.decrypt(Nonce::from_slice(nonce), sealed);
        let opened = opened.map_err(|_| TransformError::NotAuthentic { cipher: "secretbox" })?;
        Ok(Plain { value: opened.into(), stale: false })
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        let nonce = random::bytes::<NONCE_BYTES>()?;
        let sealed = self.0.encrypt(Nonce::from_slice(&nonce), plain.as_ref());
        let sealed = sealed.map_err(|_| TransformError::TooLarge { cipher: "secretbox" })?;
        Ok([nonce.as_slice(), &sealed].concat().into())
    }
}
