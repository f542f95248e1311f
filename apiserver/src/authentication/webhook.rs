//! Tokens that another server knows: it is asked with a `TokenReview`.
//!
//! | module | contents |
//! |---|---|
//! | `cache` | asks about each token once at a time, in turns |
//! | `kept` | the answers that are kept |
//!
//! Answers are kept for `--authentication-token-webhook-cache-ttl`, by a hash of the token; errors are not.
//!
//! Kubernetes concept:
//! [webhook token authentication](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clients::egress::Route;
use clients::{Bounds, CallFailure, Client, ClientSettings, SettingsError, with_retries};
use registry_core::context::UserInfo;
use registry_core::rest::access::InvalidToken;
use serde::Deserialize;
use serde_json::json;

use crate::main_server;

use super::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenOutcome, TokenPurpose};

mod cache;
mod kept;

use cache::TokenCache;

/// The bounds of one request to the webhook.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(30), max_answer_bytes: 1024 * 1024 };
/// The path at which a main server creates `TokenReview`s.
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
/// Time before the second attempt after a failure that may pass.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Asks a webhook for the users of tokens.
pub(super) struct TokenWebhook {
    inner: Arc<Webhook>,
    cache: TokenCache,
}

struct Webhook {
    client: Client,
    api_version: &'static str,
    /// The audiences of this server, for answers without any.
    own_audiences: Vec<String>,
}

#[derive(Deserialize)]
struct Review {
    kind: Option<String>,
    #[serde(default)]
    status: ReviewStatus,
}

#[derive(Default, Deserialize)]
struct ReviewStatus {
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    user: ReviewUser,
    audiences: Option<Vec<String>>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
struct ReviewUser {
    #[serde(default)]
    username: String,
    #[serde(default)]
    uid: String,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

/// Error of a webhook that cannot be asked. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum TokenWebhookError {
    #[error("unsupported authentication webhook version {0:?}, supported versions are \"v1\", \"v1beta1\"")]
    Version(String),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

// === impl TokenWebhook ===

impl TokenWebhook {
    /// Prepares the webhook of a kubeconfig.
    ///
    /// # Errors
    /// Fails if the kubeconfig cannot be used.
    pub(super) fn new(
        kubeconfig: &Path,
        version: &str,
        ttl: Duration,
        own_audiences: Vec<String>,
        route: Route,
    ) -> Result<Self, TokenWebhookError> {
        let api_version = match version {
            "v1" => "authentication.k8s.io/v1",
            "v1beta1" => "authentication.k8s.io/v1beta1",
            other => return Err(TokenWebhookError::Version(other.to_owned())),
        };
        let client = Client::new(ClientSettings::from_kubeconfig(kubeconfig)?.through(route))?;
        Ok(Self::asking(Webhook { client, api_version, own_audiences }, ttl))
    }

    /// Prepares the `TokenReview`s of an extension server, which its main server answers.
    ///
    /// # Errors
    /// Fails if the kubeconfig cannot be used.
    pub(super) fn for_main_server(kubeconfig: Option<&Path>, ttl: Duration) -> Result<Self, SettingsError> {
        let client = main_server::client(kubeconfig, TOKEN_REVIEWS)?;
        let api_version = "authentication.k8s.io/v1";
        Ok(Self::asking(Webhook { client, api_version, own_audiences: Vec::new() }, ttl))
    }

    fn asking(webhook: Webhook, ttl: Duration) -> Self {
        let client = webhook.client.without_call_limit();
        Self { inner: Arc::new(Webhook { client, ..webhook }), cache: TokenCache::new(ttl) }
    }

    async fn authenticate_token(&self, token: &str, purpose: TokenPurpose<'_>) -> TokenOutcome {
        let asked = || {
            let inner = self.inner.clone();
            let (token, audiences) = (token.to_owned(), purpose.audiences.to_vec());
            async move { inner.review(&token, &audiences).await }
        };
        self.cache.get_or_ask(token, purpose, asked).await
    }
}

impl TokenAuthenticator for TokenWebhook {
    fn compares_audiences(&self) -> bool {
        true
    }

    fn authenticate<'a>(&'a self, token: &'a str, purpose: TokenPurpose<'a>) -> TokenAnswer<'a> {
        TokenAnswer::Later(Box::pin(self.authenticate_token(token, purpose)))
    }
}

/// Error of a token that the webhook does not accept.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error("the token webhook's answer cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("the token webhook's answer is not a TokenReview")]
    OtherKind,
    #[error("the token webhook names no user")]
    NoUser,
    /// In the words of the webhook.
    #[error("{0}")]
    Refused(String),
}

// === impl Webhook ===

impl Webhook {
    async fn review(&self, token: &str, audiences: &[String]) -> TokenOutcome {
        let body = json!({
            "apiVersion": self.api_version,
            "kind": "TokenReview",
            "metadata": {},
            "spec": { "token": token, "audiences": audiences },
            "status": { "user": {} },
        });
        let body = Bytes::from(body.to_string());
        let post = || self.client.post(body.clone(), BOUNDS);
        let answer = with_retries(FIRST_PAUSE, CallFailure::is_temporary, post).await;
        let answer = answer.map_err(|failure| {
            tracing::error!("the token webhook failed: {failure}");
            InvalidToken::refused(failure)
        })?;
        self.judge(&answer, audiences).map_err(InvalidToken::refused)
    }

    fn judge(&self, answer: &[u8], audiences: &[String]) -> Result<Option<AuthenticatedToken>, ReviewError> {
        let review: Review = serde_json::from_slice(answer)?;
        if review.kind.as_deref().is_some_and(|kind| kind != "TokenReview") {
            return Err(ReviewError::OtherKind);
        }
        let status = review.status;
        let own = status.audiences.filter(|own| !own.is_empty());
        let own = own.as_deref().unwrap_or(&self.own_audiences);
        let common: Vec<String> =
            audiences.iter().filter(|audience| own.contains(audience)).cloned().collect();
        if common.is_empty() && !audiences.is_empty() {
            return Ok(None);
        }
        if !status.authenticated {
            let reason = status.error.filter(|error| !error.is_empty());
            return reason.map_or(Ok(None), |reason| Err(ReviewError::Refused(reason)));
        }
        if status.user.username.is_empty() {
            return Err(ReviewError::NoUser);
        }
        let ReviewUser { username, uid, groups, extra } = status.user;
        let user = UserInfo {
            name: username,
            uid,
            groups: groups.unwrap_or_default(),
            extra: extra.unwrap_or_default().into_iter().collect(),
        };
        Ok(Some(AuthenticatedToken { user, audiences: Some(common) }))
    }
}
