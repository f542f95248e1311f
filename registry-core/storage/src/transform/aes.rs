//! AES: with authentication (GCM), and without (CBC).
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value/encrypt/aes`.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::consts::U12;
use aes::cipher::{BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{AesGcm, Nonce};
use async_trait::async_trait;
use bytes::Bytes;

use super::{Plain, TransformError, Transformer, random};

/// Length of a nonce of GCM, in bytes.
const NONCE_BYTES: usize = 12;
/// Length of a block, in bytes.
const BLOCK_BYTES: usize = 16;

/// AES-GCM with random nonces. The key of a value is authenticated, so that a value that was moved to another key is
/// refused.
pub struct Gcm(GcmKey);

/// AES-CBC with random initialization vectors. Changes of the stored bytes are not recognized reliably.
pub struct Cbc(CbcKey);

enum GcmKey {
    Aes128(Box<AesGcm<Aes128, U12>>),
    Aes192(Box<AesGcm<Aes192, U12>>),
    Aes256(Box<AesGcm<Aes256, U12>>),
}

#[derive(Clone)]
enum CbcKey {
    Aes128([u8; 16]),
    Aes192([u8; 24]),
    Aes256([u8; 32]),
}

/// The length of a key is none of 16, 24 and 32 bytes. Not retryable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("crypto/aes: invalid key size {0}")]
pub struct KeySizeError(usize);

// === impl Gcm ===

impl Gcm {
    /// Creates a transformer with this key.
    ///
    /// # Errors
    /// Fails unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8]) -> Result<Self, KeySizeError> {
        let size = |_| KeySizeError(key.len());
        Ok(Self(match key.len() {
            16 => GcmKey::Aes128(Box::new(AesGcm::new_from_slice(key).map_err(size)?)),
            24 => GcmKey::Aes192(Box::new(AesGcm::new_from_slice(key).map_err(size)?)),
            32 => GcmKey::Aes256(Box::new(AesGcm::new_from_slice(key).map_err(size)?)),
            other => return Err(KeySizeError(other)),
        }))
    }

    /// Decrypts a nonce and what follows it.
    ///
    /// # Errors
    /// Fails if this was not encrypted with the key for the same context.
    pub(super) fn open(&self, stored: &[u8], context: &str) -> Result<Vec<u8>, TransformError> {
        let (nonce, sealed) = stored.split_at_checked(NONCE_BYTES).ok_or(TransformError::TooShort)?;
        let nonce = Nonce::<U12>::from_slice(nonce);
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        let opened = match &self.0 {
            GcmKey::Aes128(key) => key.decrypt(nonce, payload),
            GcmKey::Aes192(key) => key.decrypt(nonce, payload),
            GcmKey::Aes256(key) => key.decrypt(nonce, payload),
        };
        opened.map_err(|_| TransformError::NotAuthentic { cipher: "cipher" })
    }

    /// Encrypts a value after these bytes, with a random nonce.
    ///
    /// # Errors
    /// Fails if there are no random bytes.
    pub(super) fn seal(
        &self,
        mut before: Vec<u8>,
        plain: &[u8],
        context: &str,
    ) -> Result<Bytes, TransformError> {
        let nonce = random::bytes::<NONCE_BYTES>()?;
        let payload = Payload { msg: plain, aad: context.as_bytes() };
        let place = Nonce::<U12>::from_slice(&nonce);
        let sealed = match &self.0 {
            GcmKey::Aes128(key) => key.encrypt(place, payload),
            GcmKey::Aes192(key) => key.encrypt(place, payload),
            GcmKey::Aes256(key) => key.encrypt(place, payload),
        };
        let sealed = sealed.map_err(|_| TransformError::TooLarge { cipher: "AES-GCM" })?;
        before.reserve(NONCE_BYTES + sealed.len());
        before.extend_from_slice(&nonce);
        before.extend_from_slice(&sealed);
        Ok(before.into())
    }
}

#[async_trait]
impl Transformer for Gcm {
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError> {
        Ok(Plain { value: self.open(&stored, context)?.into(), stale: false })
    }

    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError> {
        self.seal(Vec::new(), &plain, context)
    }
}

// === impl Cbc ===

impl Cbc {
    /// Creates a transformer with this key.
    ///
    /// # Errors
    /// Fails unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8]) -> Result<Self, KeySizeError> {
        let size = |_| KeySizeError(key.len());
        Ok(Self(match key.len() {
            16 => CbcKey::Aes128(key.try_into().map_err(size)?),
            24 => CbcKey::Aes192(key.try_into().map_err(size)?),
            32 => CbcKey::Aes256(key.try_into().map_err(size)?),
            other => return Err(KeySizeError(other)),
        }))
    }

    /// Decrypts an initialization vector and what follows it.
    ///
    /// # Errors
    /// Fails if this cannot have been encrypted with the key.
    pub(super) fn open(&self, stored: &[u8]) -> Result<Vec<u8>, TransformError> {
        let (vector, sealed) = stored.split_at_checked(BLOCK_BYTES).ok_or(TransformError::TooShort)?;
        if sealed.is_empty() {
            return Err(TransformError::Empty);
        }
        if !sealed.len().is_multiple_of(BLOCK_BYTES) {
            return Err(TransformError::PartialBlock);
        }
        let vector: [u8; BLOCK_BYTES] = vector.try_into().map_err(|_| TransformError::TooShort)?;
        let opened = match &self.0 {
            CbcKey::Aes128(key) => cbc::Decryptor::<Aes128>::new(key.into(), &vector.into())
                .decrypt_padded_vec_mut::<Pkcs7>(sealed),
            CbcKey::Aes192(key) => cbc::Decryptor::<Aes192>::new(key.into(), &vector.into())
                .decrypt_padded_vec_mut::<Pkcs7>(sealed),
            CbcKey::Aes256(key) => cbc::Decryptor::<Aes256>::new(key.into(), &vector.into())
                .decrypt_padded_vec_mut::<Pkcs7>(sealed),
        };
        opened.map_err(|_| TransformError::Padding)
    }
}

#[async_trait]
impl Transformer for Cbc {
    async fn from_storage(&self, stored: Bytes, _context: &str) -> Result<Plain, TransformError> {
        Ok(Plain { value: self.open(&stored)?.into(), stale: false })
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        let vector = random::bytes::<BLOCK_BYTES>()?;
        let sealed = match &self.0 {
            CbcKey::Aes128(key) => cbc::Encryptor::<Aes128>::new(key.into(), &vector.into())
                .encrypt_padded_vec_mut::<Pkcs7>(&plain),
            CbcKey::Aes192(key) => cbc::Encryptor::<Aes192>::new(key.into(), &vector.into())
                .encrypt_padded_vec_mut::<Pkcs7>(&plain),
            CbcKey::Aes256(key) => cbc::Encryptor::<Aes256>::new(key.into(), &vector.into())
                .encrypt_padded_vec_mut::<Pkcs7>(&plain),
        };
        Ok([vector.as_slice(), &sealed].concat().into())
    }
}
