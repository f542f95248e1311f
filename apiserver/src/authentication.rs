//! Who asks: client certificates, bearer tokens, or nobody.
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
mod impersonation;
mod service_accounts;
#[cfg(test)]
mod tests;
mod tokens;

pub use certificates::user_of_certificate;
pub(crate) use impersonation::requested_impersonation;
pub use service_accounts::ServiceAccountTokens;
pub use tokens::{TokenFileError, TokenTable};

/// The group of everyone whose credentials were accepted.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// What all who show a wrong token are told.
const INVALID: &str = "invalid bearer token";

/// Finds out who asks.
#[derive(Debug, Default)]
pub struct Authenticator {
    tokens: TokenTable,
    service_accounts: Option<Arc<ServiceAccountTokens>>,
    allows_anonymous: bool,
}

impl Authenticator {
    /// Believes these tokens; `allows_anonymous` lets in who shows no credentials at all.
    pub fn new(tokens: TokenTable, allows_anonymous: bool) -> Self {
        Self { tokens, service_accounts: None, allows_anonymous }
    }

    /// Believes tokens of service accounts too.
    pub fn with_service_accounts(mut self, service_accounts: Arc<ServiceAccountTokens>) -> Self {
        self.service_accounts = Some(service_accounts);
        self
    }

    /// Who asks. `certificate_user` is whom the connection's verified client certificate names.
    ///
    /// # Errors
    /// 401: a token that is not known, or no credentials where some are needed.
    pub async fn authenticate(
        &self,
        certificate_user: Option<&UserInfo>,
        headers: &HeaderMap,
    ) -> Result<UserInfo, StatusError> {
        if let Some(user) = certificate_user {
            return Ok(user.clone());
        }
        match bearer_token(headers) {
            Some(token) => match self.tokens.user(token) {
                Some(user) => Ok(user.clone()),
                None => self.user_of_token(token, &[]).await.map(|known| known.user).map_err(|why| {
                    tracing::debug!("a token was refused: {why}");
                    unauthorized()
                }),
            },
            None if self.allows_anonymous => Ok(anonymous()),
            None => Err(unauthorized()),
        }
    }

    /// Whose token it is, when it is meant for one of these audiences. None given means this server.
    ///
    /// # Errors
    /// It is nobody's, or not for them; the text says why.
    pub async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, String> {
        let Some(service_accounts) = &self.service_accounts else {
            let user = self.tokens.user(token).cloned().ok_or(INVALID)?;
            return Ok(KnownToken { user, audiences: Vec::new() });
        };
        if let Some(user) = self.tokens.user(token) {
            // Such a token says nothing of audiences: it is meant for this server.
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

    /// What is published at this path for those who verify service accounts' tokens themselves.
    pub(crate) fn document(&self, path: &str) -> Option<Response<Body>> {
        self.service_accounts.as_ref()?.document(path)
    }
}

/// The user without credentials.
fn anonymous() -> UserInfo {
    UserInfo { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..UserInfo::default() }
}

/// The token of an `Authorization: Bearer …` header. Other schemes are not ours: nobody's credentials.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn unauthorized() -> StatusError {
    StatusError::new(Reason::Unauthorized, "Unauthorized")
}
