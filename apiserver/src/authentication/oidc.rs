//! OpenID Connect: tokens of the issuers named by `--authentication-config` or by the `--oidc-*` flags.
//!
//! | module | contents |
//! |---|---|
//! | `configuration` | the configuration file, and the flags as one |
//! | `validation` | its rules, with compiled expressions |
//! | `checks` | the rules for an issuer's own fields |
//! | `provider` | an issuer: where its keys are, and the keys |
//! | `keys` | JSON web keys, and signatures |
//! | `p521_key` | P-521 keys, which need the feature `es512` |
//! | `claims` | what is checked of every token |
//! | `mapping` | the user that the claims name |
//! | `error` | the reasons for which claims are not accepted |
//! | `reload` | reads the file again when it changes |
//!
//! The algorithm of a token must be one of RSA or elliptic curves, and fit the issuer's key: no token decides how it is
//! verified.
//!
//! Kubernetes concept:
//! [structured authentication configuration](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration).

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use clients::egress::{Egress, Route};
use jiff::Timestamp;
use registry_core::context::UserInfo;
use registry_core::rest::access::InvalidToken;
use serde_json::{Map, Value};
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::{IssuerMetrics, JwtMetrics};

use super::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenOutcome, TokenPurpose};
use super::jwt::Unverified;

mod checks;
mod claims;
pub(super) mod configuration;
mod error;
mod keys;
mod mapping;
#[cfg(feature = "es512")]
mod p521_key;
#[cfg(not(feature = "es512"))]
#[path = "oidc/p521_key/not_built.rs"]
mod p521_key;
mod provider;
pub(super) mod reload;
#[cfg(test)]
mod tests;
pub(super) mod validation;

pub(super) use error::ConfigurationError;
use error::{ClaimError, JwtError};
pub(super) use keys::Algorithm;
use provider::Provider;
use validation::IssuerRules;

/// Authenticates the users of configured issuers.
pub(super) struct JwtAuthenticators {
    issuers: Arc<ArcSwap<Vec<Issuer>>>,
    /// Reads the configuration again, as long as this exists.
    _reload: Option<AbortOnDropHandle<()>>,
}

/// One issuer.
pub(super) struct Issuer {
    rules: IssuerRules,
    algorithms: Vec<Algorithm>,
    provider: Provider,
    metrics: IssuerMetrics,
}

// === impl Issuer ===

impl Issuer {
    /// Prepares an issuer, which is asked from now on where its keys are.
    ///
    /// # Errors
    /// Fails if its certificate authority cannot be used, or if it names a network of which `egress` says nothing.
    pub(super) fn new(
        rules: IssuerRules,
        algorithms: Vec<Algorithm>,
        metrics: &JwtMetrics,
        egress: &Egress,
    ) -> Result<Self, ConfigurationError> {
        let metrics = metrics.issuer(&rules.url);
        let provider = Provider::start(&rules, route(&rules, egress)?, metrics.clone())?;
        Ok(Self { rules, algorithms, provider, metrics })
    }

    /// Whether it has told where its keys are.
    pub(super) fn is_ready(&self) -> bool {
        self.provider.is_found()
    }

    async fn user(&self, token: &Unverified<'_>, claims: &Map<String, Value>) -> Result<UserInfo, JwtError> {
        let keys = self.provider.known().await.ok_or(JwtError::NotInitialized)?;
        claims::check(claims, &self.rules.audiences, Timestamp::now()).map_err(JwtError::Unverified)?;
        let algorithm =
            Algorithm::accepted(&token.algorithm, &self.algorithms).map_err(JwtError::Unverified)?;
        if !keys.verify(algorithm, token) {
            // The issuer may have new keys.
            let newer = self.provider.newer_than(&keys).await;
            if !newer.is_some_and(|keys| keys.verify(algorithm, token)) {
                return Err(JwtError::Unverified(ClaimError::Signature));
            }
        }
        mapping::user(&self.rules, claims).map_err(JwtError::User)
    }
}

/// Returns the way to an issuer: without a proxy, unless it names a network.
fn route(rules: &IssuerRules, egress: &Egress) -> Result<Route, ConfigurationError> {
    let network = &rules.egress_selector_type;
    if network.is_empty() {
        return Ok(Route::Direct);
    }
    if !egress.is_configured() {
        return Err(ConfigurationError::NoEgress(network.clone()));
    }
    egress.configured(network).cloned().ok_or_else(|| ConfigurationError::OtherEgress(network.clone()))
}

// === impl JwtAuthenticators ===

impl JwtAuthenticators {
    pub(super) fn new(issuers: Arc<ArcSwap<Vec<Issuer>>>, reload: Option<AbortOnDropHandle<()>>) -> Self {
        Self { issuers, _reload: reload }
    }

    async fn authenticate_token(&self, token: &str) -> TokenOutcome {
        let Some(unverified) = Unverified::parse(token) else { return Ok(None) };
        let Some(decoded) = claims::decode(&unverified.claims) else { return Ok(None) };
        let Some(name) = claims::issuer(&decoded.claims) else { return Ok(None) };
        let issuers = self.issuers.load_full();
        let Some(issuer) = issuers.iter().find(|issuer| issuer.rules.url == name) else { return Ok(None) };
        if let Some(duplicate) = decoded.duplicate {
            return Err(InvalidToken::refused(JwtError::Duplicate(duplicate)));
        }
        let begun = Instant::now();
        let outcome = issuer.user(&unverified, &decoded.claims).await;
        issuer.metrics.authenticated(outcome.is_ok(), begun.elapsed());
        let user = outcome.map_err(InvalidToken::refused)?;
        Ok(Some(AuthenticatedToken { user, audiences: None }))
    }
}

impl TokenAuthenticator for JwtAuthenticators {
    fn authenticate<'a>(&'a self, token: &'a str, _: TokenPurpose<'a>) -> TokenAnswer<'a> {
        TokenAnswer::Later(Box::pin(self.authenticate_token(token)))
    }
}
