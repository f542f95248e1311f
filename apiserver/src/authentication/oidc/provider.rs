//! An issuer on the network: where its keys are, and the keys.
//!
//! The issuer may start later than this server, or run in its cluster: the server asks it where its keys are until it answers,
//! and fetches them with the first token of it, at most once in [`MIN_FIRST_INTERVAL`]. Keys are fetched again every
//! [`REFRESH`], and when a token is signed with an unknown one, at most once in [`MIN_INTERVAL`]: whoever sends tokens cannot
//! make the server send many requests.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use clients::egress::Route;
use clients::tls::Trust;
use clients::{Bounds, CallFailure, Client, ClientSettings, Content, SettingsError, TrustSource};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::IssuerMetrics;

use super::keys::{Keys, KeysError};
use super::validation::IssuerRules;

/// Time between attempts to find the keys.
const RETRY: Duration = Duration::from_secs(10);
/// Time after which keys are fetched again: those that the issuer has withdrawn end with it.
const REFRESH: Duration = Duration::from_mins(10);
/// Minimum time between two fetches for unknown keys.
const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// Minimum time between two fetches for tokens while no keys are known.
const MIN_FIRST_INTERVAL: Duration = Duration::from_secs(1);
/// The bounds of a request to an issuer.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(10), max_answer_bytes: 1024 * 1024 };
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// An issuer.
pub(super) struct Provider {
    inner: Arc<Inner>,
    _refresh: AbortOnDropHandle<()>,
}

struct Inner {
    issuer: String,
    configuration_url: String,
    trust: TrustSource,
    /// The way to the servers of the issuer.
    route: Route,
    /// The URL of the keys, as far as it is known.
    keys_url: ArcSwapOption<String>,
    keys: ArcSwapOption<Keys>,
    /// The time of the last fetch of the keys for a token; held while they are fetched.
    fetched: Mutex<Fetched>,
    metrics: IssuerMetrics,
    /// The hash of the keys, for metrics.
    key_set: parking_lot::Mutex<String>,
}

#[derive(Default)]
struct Fetched {
    for_token: Option<Instant>,
    for_first_token: Option<Instant>,
}

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: String,
}

/// Error of keys that cannot be fetched. Retryable.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("Get {0:?}: the URL's scheme must be https")]
    Scheme(String),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Call(#[from] CallFailure),
    #[error("oidc: failed to decode provider discovery object: {0}")]
    Discovery(#[from] serde_json::Error),
    #[error(
        "oidc: issuer did not match the issuer returned by provider, expected {expected:?} got {found:?}"
    )]
    OtherIssuer { expected: String, found: String },
    #[error(transparent)]
    Keys(#[from] KeysError),
}

// === impl Provider ===

impl Provider {
    /// Starts to look for the keys of an issuer.
    pub(super) fn start(
        rules: &IssuerRules,
        route: Route,
        metrics: IssuerMetrics,
    ) -> Result<Self, SettingsError> {
        let (issuer, authority) = (&*rules.url, &rules.certificate_authority);
        let own = || format!("{}{WELL_KNOWN}", issuer.strip_suffix('/').unwrap_or(issuer));
        let trust = if authority.trim().is_empty() {
            TrustSource::System
        } else {
            Trust::from_bundle(authority.as_bytes())?;
            TrustSource::Authorities(Content::Inline(authority.as_bytes().to_vec()))
        };
        let inner = Arc::new(Inner {
            issuer: issuer.to_owned(),
            configuration_url: rules.discovery_url.clone().unwrap_or_else(own),
            trust,
            route,
            keys_url: ArcSwapOption::empty(),
            keys: ArcSwapOption::empty(),
            fetched: Mutex::default(),
            metrics,
            key_set: parking_lot::Mutex::default(),
        });
        let refresh = AbortOnDropHandle::new(tokio::spawn(inner.clone().refresh()));
        Ok(Self { inner, _refresh: refresh })
    }

    /// Removes the metrics of the issuer, which is no longer configured.
    pub(super) fn forget_metrics(&self) {
        self.inner.metrics.forget(&self.inner.key_set.lock());
    }

    /// Whether the issuer has told where its keys are.
    pub(super) fn is_found(&self) -> bool {
        self.inner.keys_url.load().is_some() || self.keys().is_some()
    }

    /// Returns the keys, if they are known.
    fn keys(&self) -> Option<Arc<Keys>> {
        self.inner.keys.load_full()
    }

    /// Returns the keys, which are fetched now if they are not known yet and no other token has asked for them lately.
    ///
    /// # Errors
    /// Fails with the reason why they are not known.
    pub(super) async fn known(&self) -> Option<Arc<Keys>> {
        if let Some(keys) = self.keys() {
            return Some(keys);
        }
        let mut fetched = self.inner.fetched.lock().await;
        let is_due = fetched.for_first_token.is_none_or(|last| last.elapsed() >= MIN_FIRST_INTERVAL);
        if self.keys().is_none() && is_due {
            if let Err(error) = self.inner.fetch().await {
                tracing::warn!(issuer = self.inner.issuer, "cannot fetch the keys of an issuer: {error}");
            }
            // Tokens that waited for this fetch are not followed by others.
            fetched.for_first_token = Some(Instant::now());
        }
        self.keys()
    }

    /// Returns newer keys than these, if there are any.
    pub(super) async fn newer_than(&self, known: &Arc<Keys>) -> Option<Arc<Keys>> {
        let mut fetched = self.inner.fetched.lock().await;
        let present = self.keys()?;
        if !Arc::ptr_eq(&present, known) {
            return Some(present);
        }
        if fetched.for_token.is_some_and(|last| last.elapsed() < MIN_INTERVAL) {
            return None;
        }
        fetched.for_token = Some(Instant::now());
        match self.inner.fetch().await {
            Ok(()) => self.keys(),
            Err(error) => {
                tracing::warn!(issuer = self.inner.issuer, "cannot fetch the keys of an issuer: {error}");
                None
            }
        }
    }
}

// === impl Inner ===

impl Inner {
    async fn refresh(self: Arc<Self>) {
        loop {
            let fetched = self.fetched.lock().await;
            let outcome =
                if self.keys.load().is_some() { self.fetch().await } else { self.keys_url().await.map(drop) };
            drop(fetched);
            let pause = match outcome {
                Ok(()) => REFRESH,
                Err(error) => {
                    tracing::warn!(issuer = self.issuer, "cannot fetch the keys of an issuer: {error}");
                    RETRY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Fetches the keys, and counts it. [`fetched`](Self::fetched) is held.
    async fn fetch(&self) -> Result<(), FetchError> {
        let outcome = self.try_fetch().await;
        match &outcome {
            Ok(body) => self.metrics.fetched(body, &mut self.key_set.lock()),
            Err(_) => self.metrics.not_fetched(),
        }
        outcome.map(drop)
    }

    /// Fetches the keys, and returns them as the issuer writes them.
    async fn try_fetch(&self) -> Result<bytes::Bytes, FetchError> {
        let url = self.keys_url().await?;
        let parsed = self.get(&url).await.and_then(|body| Ok((Keys::parse(&body)?, body)));
        let (keys, body) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                // The issuer may have moved them.
                self.keys_url.store(None);
                return Err(error);
            }
        };
        self.keys.store(Some(Arc::new(keys)));
        Ok(body)
    }

    /// Returns the URL of the keys, for which the issuer is asked if it is not known.
    async fn keys_url(&self) -> Result<Arc<String>, FetchError> {
        if let Some(url) = self.keys_url.load_full() {
            return Ok(url);
        }
        let body = self.get(&self.configuration_url).await?;
        let found: Configuration = serde_json::from_slice(&body)?;
        if found.issuer != self.issuer {
            return Err(FetchError::OtherIssuer { expected: self.issuer.clone(), found: found.issuer });
        }
        let url = Arc::new(found.jwks_uri);
        self.keys_url.store(Some(url.clone()));
        Ok(url)
    }

    async fn get(&self, url: &str) -> Result<bytes::Bytes, FetchError> {
        if !url.starts_with("https://") {
            return Err(FetchError::Scheme(url.to_owned()));
        }
        // The keys may be at another server than the configuration, and are fetched rarely: no connection is kept.
        let settings = ClientSettings { trust: self.trust.clone(), ..ClientSettings::anonymous(url) };
        let settings = settings.through(self.route.clone());
        Ok(Client::new(settings)?.get(BOUNDS).await?)
    }
}
