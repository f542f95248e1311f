//! Tokens of service accounts: what one says, and who signs it.
//!
//! Kubernetes concept: `TokenGenerator` in `pkg/serviceaccount`.

use crate::api::StatusError;

/// An object a token names: its name, and the uid that tells it from namesakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenObject {
    /// The name.
    pub name: String,
    /// The uid; empty when the object is not there (a node that has yet to register).
    pub uid: String,
}

/// What a token of a service account is bound to: it ends with this object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenBinding {
    /// A pod, and the node it runs on.
    Pod(TokenObject, Option<TokenObject>),
    /// A secret.
    Secret(TokenObject),
    /// A node.
    Node(TokenObject),
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// The service account's namespace.
    pub namespace: String,
    /// The service account.
    pub service_account: TokenObject,
    /// What it is bound to, if anything.
    pub binding: Option<TokenBinding>,
    /// For whom it is meant.
    pub audiences: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub issued_at_seconds: i64,
    /// So many seconds later it ends.
    pub lifetime_seconds: i64,
    /// So many seconds later its holder should have a new one, although it is good for longer.
    pub warn_after_seconds: Option<i64>,
}

/// Signs tokens.
pub trait TokenIssuer: Send + Sync + 'static {
    /// A token that says this.
    ///
    /// # Errors
    /// It cannot be signed: 500.
    fn issue(&self, claims: &TokenClaims) -> Result<String, StatusError>;

    /// For whom a token is meant that does not say it: this server.
    fn api_audiences(&self) -> &[String];

    /// How long tokens may live at most, in seconds; `None` is no limit.
    fn max_lifetime_seconds(&self) -> Option<i64> {
        None
    }

    /// Whether tokens that pods mount live longer than they were asked for, until all clients read them anew.
    fn extends_lifetime(&self) -> bool {
        true
    }
}

/// Signs nothing: for maps that are installed outside a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTokens;

// === impl NoTokens ===

impl TokenIssuer for NoTokens {
    fn issue(&self, _: &TokenClaims) -> Result<String, StatusError> {
        Err(StatusError::internal("there is no key to sign tokens with"))
    }

    fn api_audiences(&self) -> &[String] {
        &[]
    }
}
