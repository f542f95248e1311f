//! Encryption with keys that a key management service encrypts one by one (KMS v1).
//!
//! Every value has a random key of its own, which the service encrypts, and which is stored before the value: each write is a
//! call. The keys that were used last are kept. Kubernetes has deprecated this in favor of [`kms`](super::kms).
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value/encrypt/envelope`.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::aes::{Cbc, Gcm, KeySizeError};
use super::kms::{KmsError, ServiceError};
use super::{Plain, TransformError, Transformer, random};

/// Length of the keys of values, in bytes.
const KEY_BYTES: usize = 32;
/// Length of the length of an encrypted key, in bytes.
const LENGTH_BYTES: usize = 2;
/// The bytes that a check encrypts and decrypts.
const PING: &[u8] = b"ping";

/// A key management service of version 1.
#[async_trait]
pub trait EnvelopeService: Send + Sync + 'static {
    /// Encrypts bytes.
    async fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, ServiceError>;

    /// Decrypts what the service encrypted.
    async fn decrypt(&self, encrypted: &[u8]) -> Result<Vec<u8>, ServiceError>;
}

/// Encrypts values with keys that a service encrypts.
pub struct KmsV1 {
    name: String,
    service: Arc<dyn EnvelopeService>,
    /// `None`: no keys are kept.
    keys: Option<Mutex<Keys>>,
}

/// The key of a value. Releases before 1.25 wrote with CBC.
struct Key {
    gcm: Gcm,
    cbc: Cbc,
}

/// Decrypted keys by their encrypted form; the oldest is dropped for the newest.
struct Keys {
    capacity: NonZeroUsize,
    by_encrypted: HashMap<Bytes, Arc<Key>>,
    order: VecDeque<Bytes>,
}

// === impl KmsV1 ===

impl KmsV1 {
    /// Creates the transformer of a service, which keeps at most this number of decrypted keys.
    pub fn new(
        name: impl Into<String>,
        service: Arc<dyn EnvelopeService>,
        kept_keys: Option<NonZeroUsize>,
    ) -> Self {
        let keys = kept_keys.map(|capacity| Mutex::new(Keys::new(capacity)));
        Self { name: name.into(), service, keys }
    }

    /// Checks that the service encrypts and decrypts.
    ///
    /// # Errors
    /// Fails with Kubernetes' message if it does not.
    pub async fn check(&self) -> Result<(), KmsError> {
        let name = || self.name.clone();
        let encrypted = self.service.encrypt(PING).await;
        let encrypted = encrypted.map_err(|source| KmsError::Encrypt { name: name(), source })?;
        let decrypted = self.service.decrypt(&encrypted).await;
        decrypted.map_err(|source| KmsError::Decrypt { name: name(), source })?;
        Ok(())
    }

    /// Returns the key with this encrypted form.
    async fn key(&self, encrypted: Bytes) -> Result<Arc<Key>, TransformError> {
        let kept = self.keys.as_ref().and_then(|keys| keys.lock().by_encrypted.get(&encrypted).cloned());
        if let Some(key) = kept {
            return Ok(key);
        }
        let decrypted = self.service.decrypt(&encrypted).await;
        let decrypted = decrypted.map_err(|error| TransformError::Call(error.into()))?;
        let key = Arc::new(Key::new(&decrypted)?);
        self.keep(encrypted, &key);
        Ok(key)
    }

    fn keep(&self, encrypted: Bytes, key: &Arc<Key>) {
        if let Some(keys) = &self.keys {
            keys.lock().keep(encrypted, key.clone());
        }
    }
}

#[async_trait]
impl Transformer for KmsV1 {
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError> {
        let (length, rest) = stored.split_first_chunk().ok_or(TransformError::NoLength)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let sealed = rest.get(length..).ok_or(TransformError::NoLength)?;
        // A copy, so that a kept key does not keep its value too.
        let encrypted = Bytes::copy_from_slice(rest.get(..length).unwrap_or_default());
        let key = self.key(encrypted).await?;
        let failure = match key.gcm.open(sealed, context) {
            Ok(value) => return Ok(Plain { value: value.into(), stale: false }),
            Err(failure) => failure,
        };
        match key.cbc.open(sealed) {
            Ok(value) => Ok(Plain { value: value.into(), stale: true }),
            Err(other) => Err(TransformError::All(vec![failure, other])),
        }
    }

    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError> {
        let secret = random::bytes::<KEY_BYTES>()?;
        let encrypted = self.service.encrypt(&secret).await;
        let encrypted = encrypted.map_err(|error| TransformError::Call(error.into()))?;
        let length = u16::try_from(encrypted.len());
        let length = length.map_err(|_| TransformError::TooLarge { cipher: "the length of its key" })?;
        let key = Arc::new(Key::new(&secret)?);
        let mut before = Vec::with_capacity(LENGTH_BYTES + encrypted.len());
        before.extend_from_slice(&length.to_be_bytes());
        before.extend_from_slice(&encrypted);
        self.keep(encrypted.into(), &key);
        key.gcm.seal(before, &plain, context)
    }
}

// === impl Key ===

impl Key {
    fn new(secret: &[u8]) -> Result<Self, KeySizeError> {
        Ok(Self { gcm: Gcm::new(secret)?, cbc: Cbc::new(secret)? })
    }
}

// === impl Keys ===

impl Keys {
    fn new(capacity: NonZeroUsize) -> Self {
        Self { capacity, by_encrypted: HashMap::new(), order: VecDeque::new() }
    }

    fn keep(&mut self, encrypted: Bytes, key: Arc<Key>) {
        if self.by_encrypted.insert(encrypted.clone(), key).is_some() {
            return;
        }
        self.order.push_back(encrypted);
        if self.order.len() > self.capacity.get()
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_encrypted.remove(&oldest);
        }
    }
}
