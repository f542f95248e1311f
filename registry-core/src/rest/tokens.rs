//! Tokens of service accounts: their claims and their issuer.
//!
//! Kubernetes concept: `TokenGenerator` in `pkg/serviceaccount`.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::api::StatusError;

/// An object named in a token. The uid distinguishes it from later objects with the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenObject {
    /// The name.
    pub name: String,
    /// The uid; empty if the object does not exist (a node that is not registered yet).
    pub uid: String,
}

/// The object that a service account token is bound to: the token is invalid once the object is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenBinding {
    /// A pod, and its node.
    Pod(TokenObject, Option<TokenObject>),
    /// A secret.
    Secret(TokenObject),
    /// A node.
    Node(TokenObject),
}

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// The service account's namespace.
    pub namespace: String,
    /// The service account.
    pub service_account: TokenObject,
    /// The object that it is bound to, if any.
    pub binding: Option<TokenBinding>,
    /// The intended audiences.
    pub audiences: Vec<String>,
    /// Issue time, in seconds since 1970.
    pub issued_at_seconds: i64,
    /// Lifetime of the token, in seconds.
    pub lifetime_seconds: i64,
    /// Time after which the holder should have replaced the token, in seconds, although it is valid for longer.
    pub warn_after_seconds: Option<i64>,
}

/// Issues tokens.
#[async_trait]
pub trait TokenIssuer: Send + Sync + 'static {
    /// Signs a token with these claims.
    ///
    /// # Errors
    /// 500 if it cannot be signed.
    async fn issue(&self, claims: &TokenClaims) -> Result<String, StatusError>;

    /// Returns the time that tokens are issued at.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Returns the audiences of a token that specifies none: this server.
    fn api_audiences(&self) -> &[String];

    /// Maximum lifetime of tokens, in seconds; `None` means no limit.
    fn max_lifetime_seconds(&self) -> Option<i64> {
        None
    }

    /// Maximum lifetime of tokens that get a longer one than requested, in seconds; `None` means no limit.
    fn max_extended_seconds(&self) -> Option<i64> {
        None
    }

    /// Whether tokens mounted in pods get a longer lifetime than requested, for clients that do not reload them.
    fn extends_lifetime(&self) -> bool {
        true
    }
}

/// Issues no tokens: for maps that are installed without a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTokens;

// === impl NoTokens ===

#[async_trait]
impl TokenIssuer for NoTokens {
    async fn issue(&self, _: &TokenClaims) -> Result<String, StatusError> {
        Err(StatusError::internal("there is no key to sign tokens with"))
    }

    fn api_audiences(&self) -> &[String] {
        &[]
    }
}
