//! A program that signs tokens in the place of the server, and has the keys that verify them: gRPC over a Unix socket.
//!
//! The server decides the claims; the program adds header and signature. Its keys are fetched at the start, again when it says
//! so, and when a token names a key that is not known.
//!
//! Kubernetes concept: `k8s.io/externaljwt/apis/v1`, `pkg/serviceaccount/externaljwt/plugin`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use clients::unix_grpc::{GrpcError, UnixGrpc};
use registry_core::backoff::Backoff;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::keys::VerifyingKey;
use crate::metrics::ExternalSignerMetrics;
use crate::options::{ServiceAccountOptions, socket_path};

mod messages;

use messages::{
    FETCH_KEYS, FetchKeysRequest, FetchKeysResponse, METADATA, MetadataRequest, MetadataResponse, SIGN,
    SignRequest, SignResponse,
};

/// Maximum time until the program has answered at the start, and of a later fetch of its keys.
const FETCH_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time of a call about its properties.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time of a signature.
const SIGN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which keys are fetched again after a failure.
const RETRY: Duration = Duration::from_secs(10);
/// Maximum time after which keys are fetched again.
const MAX_REFRESH: Duration = Duration::from_hours(24 * 365);
/// Minimum interval between fetches for keys that are not known: anybody can name one.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The pauses before further attempts at the start.
const START_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
/// Minimum of the maximum lifetime of tokens.
const MIN_LIFETIME_SECONDS: i64 = 600;
/// Maximum length of the id of a key.
const MAX_ID_BYTES: usize = 1024;
/// Maximum number of keys.
const MAX_KEYS: usize = 1024;
/// Maximum size of a token: longer ones are not accepted.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
const ALGORITHMS: [&str; 4] = ["RS256", "ES256", "ES384", "ES512"];

/// The program that signs tokens.
pub(crate) struct ExternalSigner {
    shared: Arc<Shared>,
    /// Maximum lifetime of tokens that it supports.
    pub(super) max_lifetime_seconds: i64,
    _refreshing: AbortOnDropHandle<()>,
}

struct Shared {
    grpc: UnixGrpc,
    keys: ArcSwap<KeySet>,
    /// The time of the last fetch of the keys for a token; held while they are fetched.
    fetched: Mutex<Option<Instant>>,
    metrics: ExternalSignerMetrics,
}

/// The keys of the program.
pub(super) struct KeySet {
    keys: Vec<ExternalKey>,
    refresh_at: Instant,
}

struct ExternalKey {
    key: VerifyingKey,
    /// Whether others learn the key, to verify tokens themselves.
    is_published: bool,
}

/// The program cannot be used. Retryable if it did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ExternalSignerError {
    /// It does not answer, or its keys cannot be used.
    #[error("while setting up external-jwt-signer: while initially filling key cache: {0}")]
    Keys(String),
    /// It does not say what it supports.
    #[error("while setting up external-jwt-signer: {0}")]
    Metadata(String),
    /// Its tokens end too early.
    #[error(
        "max token life supported by external-jwt-signer ({0}s) is less than acceptable (min {MIN_LIFETIME_SECONDS}s)"
    )]
    Lifetime(i64),
    /// `--service-account-max-token-expiration` is longer than what it supports.
    #[error(
        "service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: {configured_seconds}s > {supported_seconds}s"
    )]
    LongerThanSupported {
        /// The flag.
        configured_seconds: u64,
        /// The maximum of the program.
        supported_seconds: i64,
    },
}

/// Error of a token that is not issued. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    #[error("while signing jwt: {0}")]
    Call(#[source] GrpcError),
    #[error("while validating header: {0}")]
    Header(#[source] HeaderError),
    #[error("empty signature returned")]
    NoSignature,
    #[error("the signature is not in base64url")]
    SignatureEncoding,
    #[error("the token is larger than {MAX_TOKEN_BYTES} bytes")]
    TooLarge,
}

/// Error of the header of a token. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeaderError {
    #[error("while unwrapping header: {0}")]
    Encoding(#[from] base64::DecodeError),
    #[error("while parsing header JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("bad type")]
    Type,
    #[error("key id missing")]
    NoKeyId,
    #[error("key id longer than 1 kb")]
    LongKeyId,
    #[error("bad signing algorithm {0:?}")]
    Algorithm(String),
    #[error("key used for signing JWT (kid: {0}) is excluded from OIDC discovery docs")]
    Unpublished(String),
}

/// Error of keys that cannot be fetched or used.
#[derive(Debug, thiserror::Error)]
enum KeysError {
    #[error("while getting externally supported jwt signing keys: {0}")]
    Call(#[source] GrpcError),
    #[error("found invalid refresh hint ({0}s)")]
    RefreshHint(i64),
    #[error("found no keys")]
    None,
    #[error("found more than {MAX_KEYS} keys")]
    TooMany,
    #[error("invalid data timestamp")]
    Timestamp,
    #[error("found invalid public key id {0:?}")]
    Id(String),
    #[error("found empty public key")]
    Empty,
}

/// The header of a token. Others than these fields are refused.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

// === impl ExternalSigner ===

impl ExternalSigner {
    /// Connects to the program that the options name, waits until it answers, and fetches its keys; `None` if they name none.
    ///
    /// # Errors
    /// Fails if it does not answer in time, or if what it answers cannot be used.
    pub(crate) async fn start(
        options: &ServiceAccountOptions,
        metrics: &ExternalSignerMetrics,
    ) -> Result<Option<Arc<Self>>, ExternalSignerError> {
        let Some(endpoint) = &options.service_account_signing_endpoint else { return Ok(None) };
        let keys = ArcSwap::from_pointee(KeySet { keys: Vec::new(), refresh_at: Instant::now() });
        let (grpc, fetched) = (UnixGrpc::new(socket_path(endpoint)), Mutex::default());
        let shared = Arc::new(Shared { grpc, keys, fetched, metrics: metrics.clone() });
        shared.first_fetch(endpoint).await?;
        let metadata: Result<MetadataResponse, GrpcError> =
            shared.call(METADATA, MetadataRequest {}, METADATA_TIMEOUT).await;
        let metadata = metadata.map_err(|error| ExternalSignerError::Metadata(error.to_string()))?;
        let max_lifetime_seconds = metadata.max_token_expiration_seconds;
        if max_lifetime_seconds < MIN_LIFETIME_SECONDS {
            return Err(ExternalSignerError::Lifetime(max_lifetime_seconds));
        }
        let configured_seconds = options.service_account_max_token_expiration.as_secs();
        if configured_seconds > max_lifetime_seconds.unsigned_abs() {
            let supported_seconds = max_lifetime_seconds;
            return Err(ExternalSignerError::LongerThanSupported { configured_seconds, supported_seconds });
        }
        let refreshing = AbortOnDropHandle::new(tokio::spawn(shared.clone().refresh()));
        Ok(Some(Arc::new(Self { shared, max_lifetime_seconds, _refreshing: refreshing })))
    }

    /// Returns a token with these claims (JSON).
    ///
    /// # Errors
    /// Fails if the program does not sign them, or answers what no token can have.
    pub(super) async fn sign(&self, claims: &[u8]) -> Result<String, SignError> {
        let signed = self.signed(claims).await;
        let code = match &signed {
            Ok(_) => "OK".to_owned(),
            Err(SignError::Call(error)) => error.code(),
            Err(_) => "unknown-non-grpc".to_owned(),
        };
        self.shared.metrics.signed(&code);
        signed
    }

    async fn signed(&self, claims: &[u8]) -> Result<String, SignError> {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims);
        let request = SignRequest { claims: claims.clone() };
        let answer: SignResponse =
            self.shared.call(SIGN, request, SIGN_TIMEOUT).await.map_err(SignError::Call)?;
        if answer.header.len() + claims.len() + answer.signature.len() > MAX_TOKEN_BYTES - 2 {
            return Err(SignError::TooLarge);
        }
        let key_id = check_header(&answer.header).map_err(SignError::Header)?;
        let named = self.named(&key_id).await;
        if named.keys.iter().any(|known| known.key.id() == key_id && !known.is_published) {
            return Err(SignError::Header(HeaderError::Unpublished(key_id)));
        }
        if answer.signature.is_empty() {
            return Err(SignError::NoSignature);
        }
        if BASE64_URL_SAFE_NO_PAD.decode(&answer.signature).is_err() {
            return Err(SignError::SignatureEncoding);
        }
        Ok(format!("{}.{claims}.{}", answer.header, answer.signature))
    }

    /// Returns the keys, which are fetched now if none has this id and no other token has asked for them lately.
    pub(super) async fn named(&self, id: &str) -> Arc<KeySet> {
        let keys = self.shared.keys.load_full();
        if keys.has(id) {
            return keys;
        }
        let mut fetched = self.shared.fetched.lock().await;
        let is_due = fetched.is_none_or(|last| last.elapsed() >= MIN_INTERVAL);
        if !self.shared.keys.load().has(id) && is_due {
            if let Err(error) = self.shared.fetch(FETCH_TIMEOUT).await {
                tracing::warn!("the keys of the program that signs tokens are not known: {error}");
            }
            *fetched = Some(Instant::now());
        }
        self.shared.keys.load_full()
    }

    /// Returns the present keys.
    pub(super) fn keys(&self) -> Arc<KeySet> {
        self.shared.keys.load_full()
    }
}

/// Checks the header of a token, and returns the id of its key.
fn check_header(header: &str) -> Result<String, HeaderError> {
    let header: Header = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(header)?)?;
    if header.typ != "JWT" {
        return Err(HeaderError::Type);
    }
    if header.kid.is_empty() {
        return Err(HeaderError::NoKeyId);
    }
    if header.kid.len() > MAX_ID_BYTES {
        return Err(HeaderError::LongKeyId);
    }
    if !ALGORITHMS.contains(&&*header.alg) {
        return Err(HeaderError::Algorithm(header.alg));
    }
    Ok(header.kid)
}

// === impl Shared ===

impl Shared {
    async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, GrpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let begun = Instant::now();
        let answered = self.grpc.call(method, request, timeout).await;
        let code = answered.as_ref().err().map_or_else(|| "OK".to_owned(), GrpcError::code);
        self.metrics.called(method, &code, begun.elapsed());
        answered
    }

    /// Fetches the keys at the start, until the program answers.
    async fn first_fetch(&self, endpoint: &str) -> Result<(), ExternalSignerError> {
        let begun = Instant::now();
        let mut backoff = START_BACKOFF;
        let mut is_told = false;
        loop {
            let left = FETCH_TIMEOUT.saturating_sub(begun.elapsed());
            let failure = match self.fetch(left).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            let pause = backoff.next_pause();
            let is_absent = matches!(&failure, KeysError::Call(error) if error.is_unavailable());
            if !is_absent || begun.elapsed() + pause >= FETCH_TIMEOUT {
                let text = format!(
                    "while performing initial cache fill: while fetching token verification keys: {failure}"
                );
                return Err(ExternalSignerError::Keys(text));
            }
            if !is_told {
                tracing::warn!(endpoint, %failure, "the program that signs tokens does not answer, asking again");
                is_told = true;
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Fetches the keys, and replaces the present ones.
    async fn fetch(&self, timeout: Duration) -> Result<(), KeysError> {
        let fetched = self.fetch_keys(timeout).await;
        let (code, data_seconds) = match &fetched {
            Ok((_, data_seconds)) => ("OK".to_owned(), Some(*data_seconds)),
            Err(KeysError::Call(error)) => (error.code(), None),
            Err(_) => ("unknown-non-grpc".to_owned(), None),
        };
        self.metrics.fetched(&code, data_seconds);
        let (keys, _) = fetched?;
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    async fn fetch_keys(&self, timeout: Duration) -> Result<(KeySet, i64), KeysError> {
        let answered: Result<FetchKeysResponse, _> =
            self.call(FETCH_KEYS, FetchKeysRequest {}, timeout).await;
        KeySet::new(answered.map_err(KeysError::Call)?)
    }

    /// Fetches the keys again when it is time, for as long as the task runs. Those that are known stay in use if that fails.
    async fn refresh(self: Arc<Self>) {
        let mut pause = self.keys.load().until_refresh();
        loop {
            tokio::time::sleep(pause).await;
            let fetched = {
                let _turn = self.fetched.lock().await;
                self.fetch(FETCH_TIMEOUT).await
            };
            pause = match fetched {
                Ok(()) => self.keys.load().until_refresh(),
                Err(failure) => {
                    tracing::error!(
                        "when syncing supported public keys(Stale set of keys will be supported): {failure}"
                    );
                    RETRY
                }
            };
        }
    }
}

// === impl KeySet ===

impl KeySet {
    /// Checks an answer, and returns its keys with the time of the data. Keys whose signatures cannot be verified here are
    /// passed over.
    fn new(answer: FetchKeysResponse) -> Result<(Self, i64), KeysError> {
        let refresh_seconds = u64::try_from(answer.refresh_hint_seconds).unwrap_or_default();
        if refresh_seconds == 0 {
            return Err(KeysError::RefreshHint(answer.refresh_hint_seconds));
        }
        if answer.keys.is_empty() {
            return Err(KeysError::None);
        }
        if answer.keys.len() > MAX_KEYS {
            return Err(KeysError::TooMany);
        }
        let data = answer.data_timestamp.filter(|time| (0..1_000_000_000).contains(&time.nanos));
        let data = data.ok_or(KeysError::Timestamp)?;
        let mut keys = Vec::new();
        for key in answer.keys {
            if key.id.is_empty() || key.id.len() > MAX_ID_BYTES {
                return Err(KeysError::Id(key.id));
            }
            if key.public.is_empty() {
                return Err(KeysError::Empty);
            }
            match VerifyingKey::from_spki(&key.public) {
                Ok(verifying) => keys.push(ExternalKey {
                    key: verifying.with_id(&key.id),
                    is_published: !key.exclude_from_oidc_discovery,
                }),
                Err(reason) => {
                    tracing::warn!(
                        key = key.id,
                        "a key of the program that signs tokens is not used: {reason}"
                    );
                }
            }
        }
        let refresh_at = Instant::now() + Duration::from_secs(refresh_seconds).min(MAX_REFRESH);
        Ok((Self { keys, refresh_at }, data.seconds))
    }

    fn has(&self, id: &str) -> bool {
        self.keys.iter().any(|known| known.key.id() == id)
    }

    /// Returns the keys with this id, or all if a token names none.
    pub(super) fn fitting(&self, id: Option<&str>) -> impl Iterator<Item = &VerifyingKey> {
        self.keys.iter().map(|known| &known.key).filter(move |key| id.is_none_or(|id| id == key.id()))
    }

    /// Returns the keys by which others verify tokens themselves.
    pub(super) fn published(&self) -> Vec<VerifyingKey> {
        let published = self.keys.iter().filter(|known| known.is_published);
        published.map(|known| known.key.clone()).collect()
    }

    /// Returns the time until the keys are fetched again.
    pub(super) fn until_refresh(&self) -> Duration {
        self.refresh_at.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests;
