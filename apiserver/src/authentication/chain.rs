//! The authenticators of a server, one after the other.
//!
//! As in Kubernetes, the first authenticator that accepts a credential determines the user. An error does not end the
//! chain, because a credential of one kind can look like one of another; but a request with a credential that
//! nobody accepts is never anonymous.
//!
//! Kubernetes concept: `union` in `k8s.io/apiserver/pkg/authentication/request/union` and `…/token/union`.

use std::net::IpAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use http::HeaderMap;
use registry_core::api::go_text::aggregate;
use registry_core::api::{Reason, StatusError};
use registry_core::context::{AUTHENTICATED, UserInfo};
use registry_core::rest::access::{InvalidToken, KnownToken};

use super::{ANONYMOUS, PeerCertificates, UNAUTHENTICATED, unauthorized};

/// The time after which a client whose token could not be reviewed may show it again.
const RETRY_AFTER_SECONDS: u32 = 1;

/// The certificates and headers by which a request may be authenticated.
pub(crate) struct Shown<'r> {
    /// The client's certificates.
    pub(super) certificates: Option<&'r PeerCertificates>,
    /// The headers.
    pub(super) headers: &'r HeaderMap,
}

/// The reason for which a request authenticator does not accept a request.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The credential is not valid, for this reason; another authenticator may accept it.
    Invalid(String),
    /// The request cannot be understood.
    Unreadable(StatusError),
}

/// Authenticates requests by their connection and headers.
pub(crate) trait RequestAuthenticator: Send + Sync {
    /// Returns the user of a request; `None` if it shows nothing that this authenticator knows.
    ///
    /// # Errors
    /// Fails if a credential is not accepted.
    fn authenticate(&self, shown: &Shown<'_>) -> Result<Option<UserInfo>, Refusal>;
}

/// The user of a token; `None` if the token is of another kind, an error if it is of this kind and not accepted.
pub(crate) type TokenOutcome = Result<Option<AuthenticatedToken>, InvalidToken>;

/// The answer of a token authenticator.
pub(crate) enum TokenAnswer<'a> {
    /// It is known.
    Now(TokenOutcome),
    /// It has to be looked up.
    Later(BoxFuture<'a, TokenOutcome>),
}

/// A token that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticatedToken {
    /// The user.
    pub(crate) user: UserInfo,
    /// Those of the wanted audiences that the token is valid for; `None` if tokens of its kind have no audiences, and
    /// are valid for this server.
    pub(crate) audiences: Option<Vec<String>>,
}

/// The purpose for which a client shows a token, and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenPurpose<'a> {
    /// The accepted audiences: the token must be valid for at least one of them.
    pub(crate) audiences: &'a [String],
    /// The address of the client that shows it, or `None` if a review of the API asks about it.
    pub(crate) origin: Option<IpAddr>,
}

/// Authenticates bearer tokens.
pub(crate) trait TokenAuthenticator: Send + Sync {
    /// Whether this authenticator compares audiences itself. Others are asked only about tokens for this server.
    fn compares_audiences(&self) -> bool {
        false
    }

    /// Returns the user of a token that is valid for an audience of the purpose.
    fn authenticate<'a>(&'a self, token: &'a str, purpose: TokenPurpose<'a>) -> TokenAnswer<'a>;
}

/// Token authenticators, in the order in which they are asked.
#[derive(Default)]
pub(crate) struct TokenChain {
    authenticators: Vec<Arc<dyn TokenAuthenticator>>,
    /// The audiences of this server.
    own_audiences: Vec<String>,
}

/// Error of a token that no authenticator accepts, with the reasons of those that know its kind.
#[derive(Debug, thiserror::Error)]
#[error("{}", joined(.0))]
pub(super) struct RefusedToken(Vec<InvalidToken>);

/// The same error in the words of a review: the server's own client is asked first, whose answer is always that it does not
/// know the token.
#[derive(Debug, thiserror::Error)]
#[error("{}", aggregate(std::iter::once(&InvalidToken::Unknown).chain(.0)))]
struct ReviewedToken(Vec<InvalidToken>);

/// Returns the reasons for which a token is refused.
fn joined(reasons: &[InvalidToken]) -> String {
    if reasons.is_empty() {
        return "it is not a token of this server, or of an issuer that the server trusts".to_owned();
    }
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

// === impl RefusedToken ===

impl RefusedToken {
    /// Returns the answer to the client: 401, or 503 if one of those who may know the token could not be asked.
    pub(super) fn into_status(self) -> StatusError {
        let not_reviewed = self.0.iter().find(|reason| matches!(reason, InvalidToken::NotReviewed));
        match not_reviewed {
            Some(reason) => StatusError::new(Reason::ServiceUnavailable, reason.to_string())
                .retry_after_seconds(RETRY_AFTER_SECONDS),
            None => unauthorized(),
        }
    }
}

// === impl TokenChain ===

impl TokenChain {
    /// Adds an authenticator.
    pub(super) fn push(&mut self, authenticator: Arc<dyn TokenAuthenticator>) {
        self.authenticators.push(authenticator);
    }

    /// Sets the audiences of this server.
    pub(super) fn set_own_audiences(&mut self, audiences: Vec<String>) {
        self.own_audiences = audiences;
    }

    /// Returns the user of a token that is valid for this server, and is shown from this address.
    ///
    /// # Errors
    /// Fails with the reasons if nobody accepts it.
    pub(super) async fn user(&self, token: &str, origin: Option<IpAddr>) -> Result<UserInfo, RefusedToken> {
        let purpose = TokenPurpose { audiences: &self.own_audiences, origin };
        self.find(token, purpose, true).await.map(|found| found.user)
    }

    /// Returns the user of a token that is valid for one of these audiences. An empty list means this server.
    ///
    /// # Errors
    /// Fails if nobody accepts it.
    pub(super) async fn review(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken> {
        let wanted = if audiences.is_empty() { &self.own_audiences } else { audiences };
        let own: Vec<String> =
            self.own_audiences.iter().filter(|own| wanted.contains(own)).cloned().collect();
        let is_own = !own.is_empty() || self.own_audiences.is_empty();
        match self.find(token, TokenPurpose { audiences: wanted, origin: None }, is_own).await {
            Ok(found) => Ok(KnownToken { user: found.user, audiences: found.audiences.unwrap_or(own) }),
            Err(RefusedToken(reasons)) if reasons.is_empty() => Err(InvalidToken::Unknown),
            Err(RefusedToken(reasons)) => Err(InvalidToken::refused(ReviewedToken(reasons))),
        }
    }

    async fn find(
        &self,
        token: &str,
        purpose: TokenPurpose<'_>,
        is_own: bool,
    ) -> Result<AuthenticatedToken, RefusedToken> {
        let mut errors = Vec::new();
        for authenticator in &self.authenticators {
            if !is_own && !authenticator.compares_audiences() {
                continue;
            }
            let outcome = match authenticator.authenticate(token, purpose) {
                TokenAnswer::Now(outcome) => outcome,
                TokenAnswer::Later(outcome) => outcome.await,
            };
            match outcome {
                Ok(Some(mut found)) => {
                    add_authenticated(&mut found.user);
                    return Ok(found);
                }
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        Err(RefusedToken(errors))
    }
}

/// Adds the group of all authenticated users, unless the user is in it, or is not authenticated.
pub(super) fn add_authenticated(user: &mut UserInfo) {
    let is_marked = user.groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if user.name != ANONYMOUS && !is_marked {
        user.groups.push(AUTHENTICATED.to_owned());
    }
}
