//! Authentication: client certificates, bearer tokens and anonymous requests.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication`.

use std::sync::Arc;

use axum::body::Body;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Response};
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;
use registry_core::rest::access::KnownToken;

mod certificates;
mod headers;
mod impersonation;
mod service_accounts;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use certificates::ClientCertificate;
pub(crate) use impersonation::{remove_impersonation, requested_impersonation};
pub use service_accounts::ServiceAccountTokens;
pub use tokens::{TokenFileError, TokenTable};

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of the user without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// The error message for every invalid token.
const INVALID: &str = "invalid bearer token";

/// Authenticates requests.
#[derive(Debug, Default)]
pub struct Authenticator {
    tokens: TokenTable,
    service_accounts: Option<Arc<ServiceAccountTokens>>,
    allows_anonymous: bool,
}

impl Authenticator {
    /// Accepts these tokens. `allows_anonymous` admits requests without credentials.
    pub fn new(tokens: TokenTable, allows_anonymous: bool) -> Self {
        Self { tokens, service_accounts: None, allows_anonymous }
    }

    /// Accepts tokens of service accounts too.
    pub fn with_service_accounts(mut self, service_accounts: Arc<ServiceAccountTokens>) -> Self {
        self.service_accounts = Some(service_accounts);
        self
    }

    /// Returns the user of a request. `certificate` is the client certificate of its connection.
    ///
    /// As in kube-apiserver a valid certificate takes precedence over a token, and a token is used if the
    /// certificate is not valid.
    ///
    /// # Errors
    /// 400 if there are several `Authorization` headers. 401 if the credentials are not accepted, or if there
    /// are none and anonymous requests are not allowed.
    pub(crate) async fn authenticate(
        &self,
        certificate: Option<&ClientCertificate>,
        headers: &HeaderMap,
    ) -> Result<UserInfo, StatusError> {
        let refused = match certificate.map(ClientCertificate::user) {
            Some(Ok(user)) => return Ok(user.clone()),
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        if let Some(token) = bearer_token(headers)? {
            if let Some(user) = self.tokens.user(token) {
                return Ok(user.clone());
            }
            return self.user_of_token(token, &[]).await.map(|known| known.user).map_err(|why| {
                tracing::debug!("a token was refused: {why}");
                unauthorized()
            });
        }
        if let Some(reason) = refused {
            tracing::debug!("a client certificate was refused: {reason}");
            return Err(StatusError::new(Reason::Unauthorized, format!("Unauthorized: {reason}")));
        }
        if self.allows_anonymous { Ok(anonymous()) } else { Err(unauthorized()) }
    }

    /// Returns the user of a token that is valid for one of these audiences. An empty list means this server.
    ///
    /// # Errors
    /// Fails if the token is unknown or not valid for the audiences; the text gives the reason.
    pub async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, String> {
        let Some(service_accounts) = &self.service_accounts else {
            let user = self.tokens.user(token).cloned().ok_or(INVALID)?;
            return Ok(KnownToken { user, audiences: Vec::new() });
        };
        if let Some(user) = self.tokens.user(token) {
            // A static token has no audiences: it is valid for this server.
            let own = service_accounts.api_audiences();
            let wanted = |one: &&String| audiences.is_empty() || audiences.contains(one);
            let audiences: Vec<String> = own.iter().filter(wanted).cloned().collect();
            if audiences.is_empty() {
                return Err(INVALID.to_owned());
            }
            return Ok(KnownToken { user: user.clone(), audiences });
        }
        match service_accounts.user_of_token(token, audiences).await {
            Ok(Some(known)) => Ok(known),
            Ok(None) => Err(INVALID.to_owned()),
            Err(why) => Err(format!("[{INVALID}, {why}]")),
        }
    }

    /// Returns the document published at this path for clients that verify service account tokens themselves.
    pub(crate) fn document(&self, path: &str) -> Option<Response<Body>> {
        self.service_accounts.as_ref()?.document(path)
    }
}

/// The user without credentials.
fn anonymous() -> UserInfo {
    UserInfo { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..UserInfo::default() }
}

/// Returns the token of an `Authorization: Bearer …` header, or `None` when the header is absent or empty.
///
/// # Errors
/// 400 if the header is repeated. 401 if its scheme is not supported: a request with credentials is not
/// anonymous.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, StatusError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(StatusError::bad_request("the header \"authorization\" must not be repeated"));
    }
    // No valid token contains invalid UTF-8.
    let value = std::str::from_utf8(value.as_bytes()).map_err(|_| unauthorized())?.trim();
    if value.is_empty() {
        return Ok(None);
    }
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unauthorized());
    }
    let token = token.trim_start();
    Ok((!token.is_empty()).then_some(token))
}

fn unauthorized() -> StatusError {
    StatusError::new(Reason::Unauthorized, "Unauthorized")
}
