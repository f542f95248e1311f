//! Authentication: the user of a request.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `assembly` | the authenticators that the options ask for |
//! | `delegated` | the authenticators of an extension server |
//! | `error` | the errors that keep authentication from being set up |
//! | `request_header` | front proxies, which name the user in headers |
//! | `client_certificates` | users of client certificates |
//! | `service_accounts` | tokens of service accounts |
//! | `tokens` | tokens of a file |
//! | `bootstrap_tokens` | tokens of machines that join the cluster |
//! | `oidc` | tokens of other issuers: OpenID Connect |
//! | `webhook` | tokens that another server knows |
//! | `chain` | the interfaces of authenticators, and those of tokens one after the other |
//! | `certificates` | the certificates of a connection, and the judgement on them |
//! | `trust` | the authorities of clients' and proxies' certificates |
//! | `impersonation` | users who act as others |
//! | `headers` | values of headers that name users |
//! | `bearer` | tokens of `Authorization: Bearer …` headers |
//! | `websocket` | tokens among the subprotocols of a WebSocket |
//! | `anonymous` | requests without credentials |
//! | `jwt` | JSON web tokens |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication`.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;
use registry_core::rest::access::{InvalidToken, KnownToken};
use responses::Response;

mod anonymous;
mod assembly;
mod bearer;
mod bootstrap_tokens;
mod certificates;
mod chain;
mod client_certificates;
mod delegated;
mod error;
mod headers;
mod impersonation;
mod jwt;
mod oidc;
mod request_header;
mod service_accounts;
#[cfg(test)]
mod tests;
mod tokens;
mod trust;
mod webhook;
mod websocket;

use anonymous::Anonymous;
pub(crate) use assembly::{Sources, check};
use bearer::{Bearer, IGNORED_TOKEN};
pub(crate) use certificates::PeerCertificates;
use chain::{Refusal, RequestAuthenticator, Shown, TokenAuthenticator, TokenChain, add_authenticated};

pub(crate) use delegated::DelegatedSources;
pub use error::AuthenticationError;
pub(crate) use impersonation::{remove_impersonation, requested_impersonation};
pub(crate) use request_header::{FrontProxyNames, HeaderNamesError};
pub(crate) use service_accounts::ExternalSigner;
pub(crate) use service_accounts::sign_offline;
pub use service_accounts::{ExternalSignerError, ServiceAccountTokens};
pub use tokens::{TokenFileError, TokenTable};
pub use trust::AuthorityError;
pub(crate) use trust::{AuthoritySet, ClientTrust, Verifier};
pub(crate) use websocket::is_websocket;

/// The group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of the user without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// The outcome of the authentication of a request.
pub(crate) struct Identified {
    /// The user.
    pub(crate) user: Result<UserInfo, StatusError>,
    /// The warning to the client.
    pub(crate) warning: Option<&'static str>,
}

/// Authenticates requests.
#[derive(Default)]
pub struct Authenticator {
    requests: Vec<Box<dyn RequestAuthenticator>>,
    tokens: TokenChain,
    proxy_names: FrontProxyNames,
    service_accounts: Option<Arc<ServiceAccountTokens>>,
    anonymous: Anonymous,
}

impl Authenticator {
    /// Accepts these tokens. `allows_anonymous` admits requests without credentials.
    pub fn new(tokens: TokenTable, allows_anonymous: bool) -> Self {
        let anonymous = if allows_anonymous { Anonymous::Everywhere } else { Anonymous::Nowhere };
        let mut authenticator = Self { anonymous, ..Self::default() };
        authenticator.tokens.push(Arc::new(tokens));
        authenticator
    }

    /// Accepts tokens of service accounts too.
    pub fn with_service_accounts(mut self, service_accounts: Arc<ServiceAccountTokens>) -> Self {
        self.tokens.set_own_audiences(service_accounts.api_audiences().to_vec());
        self.tokens.push(service_accounts.clone());
        self.service_accounts = Some(service_accounts);
        self
    }

    /// Accepts tokens of a further kind.
    fn with_tokens(mut self, authenticator: Arc<dyn TokenAuthenticator>) -> Self {
        self.tokens.push(authenticator);
        self
    }

    /// Accepts requests by their connection or headers, after the authenticators that were added before.
    fn with_requests(mut self, authenticator: impl RequestAuthenticator + 'static) -> Self {
        self.requests.push(Box::new(authenticator));
        self
    }

    /// Finds out the user of a request to this path. `certificates` are those of its connection, `origin` is its address.
    ///
    /// As in kube-apiserver a valid certificate takes precedence over a token, and a token is used if the
    /// certificate is not valid. A header of a scheme that is not known shows nothing.
    ///
    /// # Errors
    /// 400 if a header that names the user cannot be read or is repeated. 401 if the credentials are not accepted, or
    /// if there are none and anonymous requests are not allowed. 503 if too many tokens wait for their review.
    pub(crate) async fn identify(
        &self,
        certificates: Option<&PeerCertificates>,
        headers: &HeaderMap,
        path: &str,
        origin: Option<IpAddr>,
    ) -> Identified {
        let refused = match self.by_request(&Shown { certificates, headers }) {
            ControlFlow::Break(user) => return Identified { user, warning: None },
            ControlFlow::Continue(refused) => refused,
        };
        let bearer = Bearer::shown(headers);
        let warning = matches!(bearer, Ok(Bearer::Ignored)).then_some(IGNORED_TOKEN);
        let token = match bearer {
            Ok(Bearer::Token(token)) => Ok(Some(Cow::Borrowed(token))),
            Ok(Bearer::Ignored | Bearer::Nothing) => token_of_websocket(headers),
            Err(error) => Err(error),
        };
        let user = match token {
            Ok(Some(token)) => self.by_token(&token, origin).await,
            Ok(None) => self.without_token(path, refused),
            Err(error) => Err(error),
        };
        Identified { user, warning }
    }

    /// Returns the user by the connection or headers, or why the client's certificate, if there is one, does not count.
    fn by_request(&self, shown: &Shown<'_>) -> ControlFlow<Result<UserInfo, StatusError>, Option<String>> {
        let mut refused = None;
        for authenticator in &self.requests {
            match authenticator.authenticate(shown) {
                Ok(Some(mut user)) => {
                    add_authenticated(&mut user);
                    return ControlFlow::Break(Ok(user));
                }
                Ok(None) => {}
                // The last one is about the client itself.
                Err(Refusal::Invalid(reason)) => refused = Some(reason),
                Err(Refusal::Unreadable(error)) => return ControlFlow::Break(Err(error)),
            }
        }
        ControlFlow::Continue(refused)
    }

    async fn by_token(&self, token: &str, origin: Option<IpAddr>) -> Result<UserInfo, StatusError> {
        self.tokens.user(token, origin).await.map_err(|refused| {
            tracing::debug!("a token was refused: {refused}");
            refused.into_status()
        })
    }

    /// Returns the user of a request that shows no token, and whose certificate was refused for this reason, if it has one.
    fn without_token(&self, path: &str, refused: Option<String>) -> Result<UserInfo, StatusError> {
        if let Some(reason) = refused {
            tracing::debug!("a client certificate was refused: {reason}");
            return Err(StatusError::new(Reason::Unauthorized, format!("Unauthorized: {reason}")));
        }
        self.anonymous.user(path).ok_or_else(unauthorized)
    }

    /// Removes everything from the headers that names or proves the user, so that nothing behind the authentication acts
    /// on it, or passes it on.
    pub(crate) fn remove_credentials(&self, headers: &mut HeaderMap) {
        headers.remove(AUTHORIZATION);
        websocket::remove_from(headers);
        self.proxy_names.remove_from(headers);
    }

    /// Returns the user of a token that is valid for one of these audiences. An empty list means this server.
    ///
    /// # Errors
    /// Fails if the token is unknown or not valid for the audiences.
    pub async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken> {
        self.tokens.review(token, audiences).await
    }

    /// Returns the document published at this path for clients that verify service account tokens themselves.
    pub(crate) fn document(&self, path: &str) -> Option<Response> {
        self.service_accounts.as_ref()?.document(path)
    }
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Authenticator(anonymous: {:?})", self.anonymous)
    }
}

/// Returns the token among the subprotocols of a WebSocket.
///
/// # Errors
/// 401 if it cannot be read.
fn token_of_websocket(headers: &HeaderMap) -> Result<Option<Cow<'_, str>>, StatusError> {
    let token = websocket::token(headers).map_err(|reason| {
        tracing::debug!("a token among subprotocols was refused: {reason}");
        unauthorized()
    })?;
    Ok(token.map(Cow::Owned))
}

fn unauthorized() -> StatusError {
    StatusError::new(Reason::Unauthorized, "Unauthorized")
}
