//! Service account tokens: issuing, verification, and the documents by which others verify them.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `offline` | tokens that are signed without a server |
//! | `legacy_token` | tokens that are stored in Secrets |
//! | `bound` | the objects that tokens end with |
//! | `claims` | the claims of tokens that expire |
//! | `verified` | a cache of tokens whose signatures were checked |
//! | `documents` | the documents by which others verify tokens |
//! | `external` | a program that signs tokens in the place of the server |
//! | `keys` | keys that sign and verify |
//! | `error` | the reasons for which a token is not accepted |
//!
//! Kubernetes concept:
//! [service account tokens](https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/).

use std::sync::Arc;

use async_trait::async_trait;
use futures::TryFutureExt as _;
use registry_core::api::StatusError;
use registry_core::api::clock::Clock;
use registry_core::registry::Stores;
use registry_core::rest::access::InvalidToken;
use registry_core::rest::tokens::{TokenClaims, TokenIssuer};
use responses::Response;

use crate::authentication::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenPurpose};
use crate::authentication::jwt;
use crate::options::ServiceAccountOptions;
use crate::pki::{KeyDirectory, PkiError};

pub(super) mod bound;
mod claims;
mod documents;
mod error;
#[cfg(feature = "external-signer")]
mod external;
#[cfg(not(feature = "external-signer"))]
#[path = "service_accounts/external/not_built.rs"]
mod external;
mod keys;
mod legacy_token;
mod offline;
mod verified;

use bound::BoundObjects;
use claims::Claims;
use documents::Documents;
use error::TokenError;
pub(crate) use external::ExternalSigner;
pub use external::ExternalSignerError;
use keys::{SigningKey, VerifyingKey};
use legacy_token::LegacyClaims;
pub(crate) use offline::sign as sign_offline;
use verified::Verified;

/// Issues and verifies tokens.
pub struct ServiceAccountTokens {
    /// Accepted issuers; the first is this server.
    issuers: Vec<String>,
    api_audiences: Vec<String>,
    max_lifetime_seconds: Option<i64>,
    extends_lifetime: bool,
    max_extended_seconds: Option<i64>,
    keys: TokenKeys,
    verified: Verified,
    objects: BoundObjects,
    documents: Documents,
    clock: Clock,
}

/// The keys that tokens are signed and verified with.
enum TokenKeys {
    /// The server's own.
    Own {
        signing: Box<SigningKey>,
        /// Keys that tokens are verified with.
        verifying: Vec<VerifyingKey>,
    },
    /// Those of a program.
    External(Arc<ExternalSigner>),
}

/// The claims of a token, by its type.
enum VerifiedClaims {
    /// A requested token: it expires, and may be bound to an object.
    Bound(Claims),
    /// A token stored in a Secret.
    Legacy(LegacyClaims),
}

// === impl VerifiedClaims ===

impl VerifiedClaims {
    /// Returns the claims of a token, or `None` when it has another issuer.
    fn from_token(token: &jwt::Unverified<'_>, issuers: &[String]) -> Option<Self> {
        let kept = LegacyClaims::from_token(token).map(Self::Legacy);
        kept.or_else(|| Claims::from_token(token, issuers).map(Self::Bound))
    }
}

// === impl TokenKeys ===

impl TokenKeys {
    /// Reads the keys that the flags name; the one that signs is created below `directory` if they name none.
    fn read(options: &ServiceAccountOptions, directory: &KeyDirectory) -> Result<Self, PkiError> {
        let signing = match &options.service_account_signing_key_file {
            Some(path) => SigningKey::read(path)?,
            None => SigningKey::ensure(directory)?,
        };
        let mut verifying = vec![signing.public().clone()];
        for path in &options.service_account_key_file {
            for key in VerifyingKey::read_all(path)? {
                if !verifying.iter().any(|known| known.id() == key.id()) {
                    verifying.push(key);
                }
            }
        }
        Ok(Self::Own { signing: Box::new(signing), verifying })
    }
}

// === impl ServiceAccountTokens ===

impl ServiceAccountTokens {
    /// Configures tokens from the flags: keys are read, or created below `directory`, unless a program has them. `stores` has
    /// the objects that tokens are bound to.
    ///
    /// # Errors
    /// Fails if a key cannot be read or created.
    pub(crate) fn new(
        options: &ServiceAccountOptions,
        directory: &KeyDirectory,
        external: Option<Arc<ExternalSigner>>,
        stores: Stores,
    ) -> Result<Self, PkiError> {
        let issuers = options.service_account_issuer.clone();
        let api_audiences =
            if options.api_audiences.is_empty() { issuers.clone() } else { options.api_audiences.clone() };
        let max = options.service_account_max_token_expiration.as_secs();
        let max_extended_seconds = external.as_ref().map(|external| external.max_lifetime_seconds);
        let keys = match external {
            Some(external) => TokenKeys::External(external),
            None => TokenKeys::read(options, directory)?,
        };
        let published = match &keys {
            TokenKeys::Own { verifying, .. } => verifying.clone(),
            TokenKeys::External(_) => Vec::new(),
        };
        Ok(Self {
            documents: Documents::new(&issuers, &published),
            issuers,
            api_audiences,
            max_lifetime_seconds: i64::try_from(max)
                .ok()
                .filter(|seconds| *seconds > 0)
                .or(max_extended_seconds),
            extends_lifetime: options.service_account_extend_token_expiration,
            max_extended_seconds,
            keys,
            verified: Verified::default(),
            objects: BoundObjects::new(stores),
            clock: Clock::default(),
        })
    }
    /// Issues and checks tokens by this clock.
    #[must_use]
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Returns the audiences of tokens that name none.
    pub(crate) fn api_audiences(&self) -> &[String] {
        &self.api_audiences
    }

    /// Sets the URL of the key set (`--service-account-jwks-uri`, or this server's).
    pub(crate) fn publish_at(&self, jwks_uri: String) {
        self.documents.publish_at(jwks_uri);
    }

    /// Returns the user of a token, or `None` when it is not a service account's.
    ///
    /// # Errors
    /// Fails if it is a service account's token that is not, or no longer, valid.
    async fn user_of_token(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<AuthenticatedToken>, TokenError> {
        let claims = if let Some(claims) = self.verified.get(token) {
            claims
        } else {
            let Some(unverified) = jwt::Unverified::parse(token) else { return Ok(None) };
            let Some(claims) = VerifiedClaims::from_token(&unverified, &self.issuers) else {
                return Ok(None);
            };
            self.check_signature(&unverified).await?;
            let claims = Arc::new(claims);
            // The keys of a program may change.
            if matches!(self.keys, TokenKeys::Own { .. }) {
                self.verified.insert(token, claims.clone());
            }
            claims
        };
        let wanted = audiences;
        let (audiences, user) = match &*claims {
            VerifiedClaims::Bound(claims) => {
                let audiences = claims.meant_for(wanted)?;
                claims.check_time(self.clock.now())?;
                (audiences, self.objects.user_of(claims).await?)
            }
            VerifiedClaims::Legacy(claims) => {
                let audiences = claims.meant_for(wanted, &self.api_audiences)?;
                (audiences, claims.user(&self.objects, token).await?)
            }
        };
        Ok(Some(AuthenticatedToken { user, audiences: Some(audiences) }))
    }

    async fn check_signature(&self, token: &jwt::Unverified<'_>) -> Result<(), TokenError> {
        let is_signed = match &self.keys {
            TokenKeys::Own { verifying, .. } => {
                let fitting = |key: &&VerifyingKey| token.key_id.as_deref().is_none_or(|id| id == key.id());
                let mut candidates: Vec<&VerifyingKey> = verifying.iter().filter(fitting).collect();
                // The server that handed a key over may have named it differently.
                if candidates.is_empty() {
                    candidates = verifying.iter().collect();
                }
                candidates.iter().any(|key| key.verifies(token))
            }
            TokenKeys::External(external) => {
                let id = token.key_id.as_deref().filter(|id| !id.is_empty());
                let keys = match id {
                    Some(id) => external.named(id).await,
                    None => external.keys(),
                };
                keys.fitting(id).any(|key| key.verifies(token))
            }
        };
        if !is_signed {
            // The error has the text of Kubernetes, which does not say that.
            tracing::debug!("the key that signed a service account token is not a key of this server");
            return Err(TokenError::Signature);
        }
        Ok(())
    }

    /// Returns the document published at this path for clients that verify tokens themselves.
    pub(crate) fn document(&self, path: &str) -> Option<Response> {
        match &self.keys {
            TokenKeys::Own { .. } => self.documents.get(path),
            TokenKeys::External(external) => {
                let keys = external.keys();
                let max_age_seconds = keys.until_refresh().as_secs();
                self.documents.with_keys(&self.issuers, &keys.published(), max_age_seconds).get(path)
            }
        }
    }
}

impl TokenAuthenticator for ServiceAccountTokens {
    fn compares_audiences(&self) -> bool {
        true
    }

    fn authenticate<'a>(&'a self, token: &'a str, purpose: TokenPurpose<'a>) -> TokenAnswer<'a> {
        let found = self.user_of_token(token, purpose.audiences);
        TokenAnswer::Later(Box::pin(found.map_err(InvalidToken::refused)))
    }
}

#[async_trait]
impl TokenIssuer for ServiceAccountTokens {
    async fn issue(&self, claims: &TokenClaims) -> Result<String, StatusError> {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        let claims = Claims::to_issue(claims, issuer);
        let payload = serde_json::to_vec(&claims).map_err(StatusError::internal)?;
        match &self.keys {
            TokenKeys::Own { signing, .. } => {
                signing.sign(&payload).map_err(|error| StatusError::internal(error.to_string()))
            }
            TokenKeys::External(external) => {
                let signed = external.sign(&payload).await;
                signed.map_err(|error| StatusError::internal(format!("failed to generate token: {error}")))
            }
        }
    }

    fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    fn api_audiences(&self) -> &[String] {
        &self.api_audiences
    }

    fn max_lifetime_seconds(&self) -> Option<i64> {
        self.max_lifetime_seconds
    }

    fn max_extended_seconds(&self) -> Option<i64> {
        self.max_extended_seconds
    }

    fn extends_lifetime(&self) -> bool {
        self.extends_lifetime
    }
}

impl std::fmt::Debug for ServiceAccountTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServiceAccountTokens(of {:?})", self.issuers)
    }
}
