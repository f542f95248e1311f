//! Who asks: client certificates, bearer tokens, or nobody.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication`.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;

mod certificates;
mod impersonation;
#[cfg(test)]
mod tests;
mod tokens;

pub use certificates::user_of_certificate;
pub(crate) use impersonation::requested_impersonation;
pub use tokens::{TokenFileError, TokenTable};

/// The group of everyone whose credentials were accepted.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// Finds out who asks.
#[derive(Debug, Default)]
pub struct Authenticator {
    tokens: TokenTable,
    allows_anonymous: bool,
}

impl Authenticator {
    /// Believes these tokens; `allows_anonymous` lets in who shows no credentials at all.
    pub fn new(tokens: TokenTable, allows_anonymous: bool) -> Self {
        Self { tokens, allows_anonymous }
    }

    /// Who asks. `certificate_user` is whom the connection's verified client certificate names.
    ///
    /// # Errors
    /// 401: a token that is not known, or no credentials where some are needed.
    pub fn authenticate(
        &self,
        certificate_user: Option<&UserInfo>,
        headers: &HeaderMap,
    ) -> Result<UserInfo, StatusError> {
        if let Some(user) = certificate_user {
            return Ok(user.clone());
        }
        match bearer_token(headers) {
            Some(token) => self.tokens.user(token).cloned().ok_or_else(unauthorized),
            None if self.allows_anonymous => Ok(anonymous()),
            None => Err(unauthorized()),
        }
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
