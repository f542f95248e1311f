//! Tokens that another server knows: it is asked with a `TokenReview`.
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
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use registry_core::context::UserInfo;
use serde::Deserialize;
use serde_json::json;

use crate::webhooks::fetch::HttpsClient;

use super::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenOutcome};

mod cache;
mod kubeconfig;

use cache::TokenCache;
use kubeconfig::{Kubeconfig, Secret};

/// Maximum time of one request to the webhook.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Pauses before the further attempts after a failure that may pass.
const RETRIES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_millis(750),
    Duration::from_millis(1125),
    Duration::from_millis(1688),
];

/// Asks a webhook for the users of tokens.
pub(super) struct TokenWebhook {
    inner: Arc<Webhook>,
    cache: TokenCache,
}

struct Webhook {
    client: HttpsClient,
    url: String,
    secret: Option<Secret>,
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

/// A failed request.
struct Failure {
    reason: String,
    may_pass: bool,
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
    ) -> Result<Self, String> {
        let api_version = match version {
            "v1" => "authentication.k8s.io/v1",
            "v1beta1" => "authentication.k8s.io/v1beta1",
            other => {
                return Err(format!(
                    "unsupported authentication webhook version {other:?}, supported versions are \"v1\", \"v1beta1\""
                ));
            }
        };
        let Kubeconfig { url, authority, server_name, identity, secret } = Kubeconfig::read(kubeconfig)?;
        let client = HttpsClient::new(&authority, identity, TIMEOUT, MAX_ANSWER_BYTES)?;
        let client = client.with_server_name(server_name);
        let inner = Arc::new(Webhook { client, url, secret, api_version, own_audiences });
        Ok(Self { inner, cache: TokenCache::new(ttl) })
    }

    async fn authenticate_token(&self, token: &str, audiences: &[String]) -> TokenOutcome {
        let asked = || {
            let (inner, token, audiences) = (self.inner.clone(), token.to_owned(), audiences.to_vec());
            async move { inner.review(&token, &audiences).await }
        };
        self.cache.get_or_ask(token, audiences, asked).await
    }
}

impl TokenAuthenticator for TokenWebhook {
    fn compares_audiences(&self) -> bool {
        true
    }

    fn authenticate<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> TokenAnswer<'a> {
        TokenAnswer::Later(Box::pin(self.authenticate_token(token, audiences)))
    }
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
        let mut pauses = RETRIES.into_iter();
        let answer = loop {
            match self.ask(&body).await {
                Ok(answer) => break answer,
                Err(failure) => {
                    let Some(pause) = pauses.next().filter(|_| failure.may_pass) else {
                        tracing::error!("the token webhook failed: {}", failure.reason);
                        return Err(failure.reason);
                    };
                    tokio::time::sleep(pause).await;
                }
            }
        };
        self.judge(&answer, audiences)
    }

    async fn ask(&self, body: &Bytes) -> Result<Bytes, Failure> {
        let failed = |reason: String, may_pass: bool| Failure { reason, may_pass };
        let mut headers = HeaderMap::new();
        if let Some(secret) = &self.secret {
            let value = secret.header_value().map_err(|reason| failed(reason, false))?;
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| failed("the webhook's credentials cannot be a header".to_owned(), false))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let (status, answer) =
            self.client.post(&self.url, headers, body.clone()).await.map_err(|reason| {
                let may_pass = reason.ends_with("connection reset by peer") || reason.ends_with("EOF");
                failed(reason, may_pass)
            })?;
        if status.is_success() {
            return Ok(answer);
        }
        let may_pass = matches!(
            status,
            StatusCode::INTERNAL_SERVER_ERROR | StatusCode::GATEWAY_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
        Err(failed(format!("Post {:?}: {status}", self.url), may_pass))
    }

    fn judge(&self, answer: &[u8], audiences: &[String]) -> TokenOutcome {
        let review: Review = serde_json::from_slice(answer)
            .map_err(|error| format!("the token webhook's answer cannot be read: {error}"))?;
        if review.kind.as_deref().is_some_and(|kind| kind != "TokenReview") {
            return Err("the token webhook's answer is no TokenReview".to_owned());
        }
        let status = review.status;
        let own = status.audiences.filter(|own| !own.is_empty());
        let own = own.as_deref().unwrap_or(&self.own_audiences);
        let common: Vec<String> = audiences.iter().filter(|one| own.contains(one)).cloned().collect();
        if common.is_empty() && !audiences.is_empty() {
            return Ok(None);
        }
        if !status.authenticated {
            return status.error.filter(|error| !error.is_empty()).map_or(Ok(None), Err);
        }
        if status.user.username.is_empty() {
            return Err("the token webhook names no user".to_owned());
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
