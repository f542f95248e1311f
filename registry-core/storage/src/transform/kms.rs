//! Encryption with keys that a key management service keeps (KMS v2).
//!
//! Every value is encrypted with a key of its own, derived from a random seed. The service encrypts the seed, which is
//! stored with the value. A seed is used until the service changes its key, so that writes need no call; the calls of reads
//! are cached.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use prost::Message as _;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Plain, TransformError, Transformer, random};

mod object;
mod source;

pub use object::{EncryptedObject, KeyIdError, ObjectError, check_key_id};
use source::Source;

/// Time for which values may be written without a successful check of the service.
const WRITE_TTL: Duration = Duration::from_mins(3);
/// Time for which a decrypted seed is kept.
const CACHE_TTL: Duration = Duration::from_hours(24);
/// Maximum number of decrypted seeds that are kept.
const MAX_CACHED: usize = 1024;
/// Maximum length of a service's text in a message, in characters: each check that fails logs it.
const MAX_SHOWN_CHARS: usize = 1_024;
/// Length of a seed, in bytes.
const SEED_BYTES: usize = 32;

/// A key management service.
#[async_trait]
pub trait KmsService: Send + Sync + 'static {
    /// Returns the state of the service.
    async fn status(&self) -> Result<KmsStatus, ServiceError>;

    /// Encrypts bytes.
    async fn encrypt(&self, uid: &str, plain: &[u8]) -> Result<KmsCiphertext, ServiceError>;

    /// Decrypts what the service encrypted.
    async fn decrypt(&self, uid: &str, encrypted: &KmsCiphertext) -> Result<Vec<u8>, ServiceError>;
}

/// Error of a call to a service. Retryable.
pub type ServiceError = Box<dyn std::error::Error + Send + Sync>;

/// Error of a check of a service, with Kubernetes' text. Retryable.
#[derive(Debug, thiserror::Error)]
pub enum KmsError {
    /// The service does not tell its state.
    #[error("failed to perform status section of the healthz check for KMS Provider {name}, error: {source}")]
    Status {
        /// The name of the service.
        name: String,
        /// The error of the call.
        source: ServiceError,
    },
    /// The service does not encrypt.
    #[error(
        "failed to perform encrypt section of the healthz check for KMS Provider {name}, error: {source}"
    )]
    Encrypt {
        /// The name of the service.
        name: String,
        /// The error of the call.
        source: ServiceError,
    },
    /// The service does not decrypt.
    #[error(
        "failed to perform decrypt section of the healthz check for KMS Provider {name}, error: {source}"
    )]
    Decrypt {
        /// The name of the service.
        name: String,
        /// The error of the call.
        source: ServiceError,
    },
    /// The service cannot be used.
    #[error("kmsv2 Provider {name} is not healthy, error: {source}")]
    Unhealthy {
        /// The name of the service.
        name: String,
        /// The reason.
        source: KmsProblem,
    },
}

/// The reason for which a service cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KmsProblem {
    /// It reports a problem.
    #[error("got unexpected healthz status: {0}")]
    Health(String),
    /// It has another version of the API.
    #[error("expected KMSv2 API version v2, got {0}")]
    Version(String),
    /// The id of its key is invalid.
    #[error("got invalid KMSv2 KeyID: {0}")]
    KeyId(#[from] KeyIdError),
    /// It does not encrypt.
    #[error("failed to encrypt DEK, error: {0}")]
    Encrypt(#[source] ServiceError),
    /// Its status names another key than its ciphertexts.
    #[error("failed to rotate DEK: the service encrypts with another key than its status says")]
    OtherKey,
    /// No seed can be made, or its ciphertext cannot be stored.
    #[error(transparent)]
    Seed(#[from] TransformError),
}

/// The state of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KmsStatus {
    /// The version of the service's API.
    pub version: String,
    /// `ok`, or a problem.
    pub healthz: String,
    /// The key that it encrypts with.
    pub key_id: String,
}

/// Bytes that a service encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KmsCiphertext {
    /// The encrypted bytes.
    pub ciphertext: Vec<u8>,
    /// The key of the service.
    pub key_id: String,
    /// The data that the service needs to decrypt the bytes.
    pub annotations: BTreeMap<String, Vec<u8>>,
}

/// Encrypts values with seeds that a service encrypts.
pub struct Kms {
    name: String,
    service: Arc<dyn KmsService>,
    /// The key that encrypts new values; `None` before the first successful check.
    state: ArcSwapOption<WriteState>,
    cache: Mutex<HashMap<CacheKey, Cached>>,
    /// The pending calls that decrypt seeds. Reads of values with the same seed share one call, and its failure.
    calls: Mutex<HashMap<CacheKey, WeakShared<Decryption>>>,
    /// The failure of the last check.
    failure: Mutex<Option<String>>,
}

/// A call that decrypts a seed.
type Decryption = BoxFuture<'static, Result<Arc<Source>, TransformError>>;

struct WriteState {
    source: Arc<Source>,
    encrypted: KmsCiphertext,
    expires: Instant,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct CacheKey {
    kind: i32,
    encrypted: KmsCiphertext,
}

struct Cached {
    source: Arc<Source>,
    expires: Instant,
}

// === impl Kms ===

impl Kms {
    /// Creates the transformer of a service, which must be [checked](Self::check) before it can write.
    pub fn new(name: impl Into<String>, service: Arc<dyn KmsService>) -> Self {
        Self {
            name: name.into(),
            service,
            state: ArcSwapOption::empty(),
            cache: Mutex::default(),
            calls: Mutex::default(),
            failure: Mutex::new(Some("it was not checked yet".to_owned())),
        }
    }

    /// Returns the name of the service.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the failure of the last check.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Checks the service, and begins to use another seed if its key has changed. To be called at least once a minute.
    ///
    /// # Errors
    /// Fails with Kubernetes' message if the service is not healthy.
    pub async fn check(&self) -> Result<(), KmsError> {
        let name = || self.name.clone();
        let checked = match self.service.status().await {
            Ok(status) => {
                self.adopt(status).await.map_err(|source| KmsError::Unhealthy { name: name(), source })
            }
            Err(source) => Err(KmsError::Status { name: name(), source }),
        };
        *self.failure.lock() = checked.as_ref().err().map(ToString::to_string);
        checked
    }

    /// Uses the service if it is healthy.
    async fn adopt(&self, status: KmsStatus) -> Result<(), KmsProblem> {
        let shown = |text: &str| -> String { text.chars().take(MAX_SHOWN_CHARS).collect() };
        if status.healthz != "ok" {
            return Err(KmsProblem::Health(shown(&status.healthz)));
        }
        if !matches!(status.version.as_str(), "v2" | "v2beta1") {
            return Err(KmsProblem::Version(shown(&status.version)));
        }
        check_key_id(&status.key_id)?;
        self.follow(&status.key_id).await
    }

    /// Uses a seed that is encrypted with this key of the service.
    async fn follow(&self, key_id: &str) -> Result<(), KmsProblem> {
        let expires = Instant::now() + WRITE_TTL;
        if let Some(state) = self.state.load_full().filter(|state| state.encrypted.key_id == key_id) {
            let (source, encrypted) = (state.source.clone(), state.encrypted.clone());
            self.state.store(Some(Arc::new(WriteState { source, encrypted, expires })));
            return Ok(());
        }
        let seed = random::bytes::<SEED_BYTES>()?;
        let uid = Uuid::new_v4().to_string();
        let encrypted = self.service.encrypt(&uid, &seed).await.map_err(KmsProblem::Encrypt)?;
        EncryptedObject::new(&encrypted, Vec::from([0])).validate().map_err(TransformError::from)?;
        if encrypted.key_id != key_id {
            return Err(KmsProblem::OtherKey);
        }
        let source = Arc::new(Source::seed(&seed)?);
        self.keep(CacheKey { kind: source::SEED, encrypted: encrypted.clone() }, source.clone());
        self.state.store(Some(Arc::new(WriteState { source, encrypted, expires })));
        Ok(())
    }

    /// Returns the decrypted seed or key of a value.
    async fn source_of(&self, key: &CacheKey) -> Result<Arc<Source>, TransformError> {
        if let Some(source) = self.cached(key) {
            return Ok(source);
        }
        self.decryption(key).await
    }

    /// Returns the call for a seed: the one that is under way, or a new one.
    fn decryption(&self, key: &CacheKey) -> Shared<Decryption> {
        let mut calls = self.calls.lock();
        // Of the others, nobody waits for the outcome any more.
        calls.retain(|_, call| call.upgrade().is_some());
        if let Some(call) = calls.get(key).and_then(WeakShared::upgrade) {
            return call;
        }
        let (service, wanted) = (self.service.clone(), key.clone());
        let call = async move {
            let uid = Uuid::new_v4().to_string();
            let decrypted = service.decrypt(&uid, &wanted.encrypted).await;
            let decrypted = decrypted.map_err(|error| TransformError::Service(error.into()))?;
            Ok(Arc::new(Source::from_kind(wanted.kind, &decrypted)?))
        };
        let call = call.boxed().shared();
        calls.extend(call.downgrade().map(|weak| (key.clone(), weak)));
        call
    }

    fn cached(&self, key: &CacheKey) -> Option<Arc<Source>> {
        let cache = self.cache.lock();
        let cached = cache.get(key).filter(|cached| cached.expires > Instant::now());
        cached.map(|cached| cached.source.clone())
    }

    fn keep(&self, key: CacheKey, source: Arc<Source>) {
        let now = Instant::now();
        let mut cache = self.cache.lock();
        if cache.len() >= MAX_CACHED {
            cache.retain(|_, cached| cached.expires > now);
        }
        if cache.len() >= MAX_CACHED {
            let oldest = cache.iter().min_by_key(|(_, cached)| cached.expires).map(|(key, _)| key.clone());
            oldest.map(|oldest| cache.remove(&oldest));
        }
        cache.insert(key, Cached { source, expires: now + CACHE_TTL });
    }
}

#[async_trait]
impl Transformer for Kms {
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError> {
        let object = EncryptedObject::decode(stored).map_err(ObjectError::Encoding)?;
        object.validate()?;
        let (encrypted, kind, data) = object.into_parts();
        let state = self.state.load_full();
        let is_current =
            kind == source::SEED && state.is_some_and(|state| state.encrypted.key_id == encrypted.key_id);
        let key = CacheKey { kind, encrypted };
        let source = self.source_of(&key).await?;
        let value = source.open(&data, context)?.into();
        // Only now it is known that the service has decrypted it right.
        if self.cached(&key).is_none() {
            self.keep(key, source);
        }
        Ok(Plain { value, stale: !is_current })
    }

    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError> {
        let state = self.state.load_full().ok_or_else(|| TransformError::NotReady {
            name: self.name.clone(),
            why: self.failure().unwrap_or_default(),
        })?;
        if Instant::now() > state.expires {
            return Err(TransformError::Expired { name: self.name.clone() });
        }
        let sealed = state.source.seal(&plain, context)?;
        Ok(EncryptedObject::new(&state.encrypted, sealed.into()).encode_to_vec().into())
    }
}
