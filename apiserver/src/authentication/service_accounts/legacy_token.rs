//! Tokens that are stored in Secrets: they do not expire, and are valid for as long as their Secret contains
//! them.
//!
//! The token controller creates them, for Secrets of type `kubernetes.io/service-account-token`.
//!
//! Kubernetes concept: legacy, or secret-based, service account tokens.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use registry_core::api::Object;
use registry_core::context::{ServiceAccountName, UserInfo};
use registry_core::resource::Resource as _;
use resources::api::core::secrets::Secrets;
use resources::api::core::serviceaccounts::ServiceAccounts;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::bound::{BoundObjects, account_user};
use super::claims::meant_for;
use super::error::TokenError;
use crate::authentication::jwt::Unverified;

/// The issuer of all legacy tokens.
const ISSUER: &str = "kubernetes/serviceaccount";
/// The label of a Secret whose token was invalidated because it was not used for a long time.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The claims of a legacy token.
#[derive(Debug, Deserialize)]
pub(super) struct LegacyClaims {
    iss: String,
    #[serde(default)]
    sub: String,
    #[serde(default)]
    aud: Vec<String>,
    #[serde(rename = "kubernetes.io/serviceaccount/namespace", default)]
    namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name", default)]
    secret_name: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name", default)]
    account_name: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid", default)]
    account_uid: String,
}

// === impl LegacyClaims ===

impl LegacyClaims {
    /// Returns the claims of a legacy token, or `None` when it is another type of token.
    pub(super) fn from_token(token: &Unverified<'_>) -> Option<Self> {
        let claims: Self = serde_json::from_slice(&token.claims).ok()?;
        (claims.iss == ISSUER).then_some(claims)
    }

    /// Returns the audiences that the token is valid for. A token without audiences is valid for this server.
    ///
    /// # Errors
    /// Fails if there are none.
    pub(super) fn meant_for(&self, wanted: &[String], own: &[String]) -> Result<Vec<String>, TokenError> {
        meant_for(if self.aud.is_empty() { own } else { &self.aud }, wanted)
    }

    /// Returns the token's service account if it and the Secret that contains the token exist. Records the
    /// use in the Secret.
    ///
    /// # Errors
    /// Fails if the claims are contradictory, or the token is no longer valid.
    pub(super) async fn user(&self, objects: &BoundObjects, token: &str) -> Result<UserInfo, TokenError> {
        self.check()?;
        let secret = objects
            .find(Secrets::TYPE, &self.namespace, &self.secret_name, |secret| keeps(secret, token))
            .await?
            .filter(|secret| secret.deletion_timestamp().is_none())
            .ok_or(TokenError::SecretGone)?;
        if !keeps(&secret, token) {
            return Err(TokenError::OtherCopy);
        }
        let account = objects
            .identify(ServiceAccounts::TYPE, &self.namespace, &self.account_name, &self.account_uid)
            .await?
            .ok_or_else(|| TokenError::AccountNotFound(self.account_name.clone()))?;
        let namespace = &self.namespace;
        let name = &self.account_name;
        if account.deletion_timestamp.is_some() {
            return Err(TokenError::AccountDeleted { namespace: namespace.clone(), name: name.clone() });
        }
        if account.uid != self.account_uid {
            let claimed = self.account_uid.clone();
            return Err(TokenError::LegacyAccountUid { uid: account.uid, claimed });
        }
        objects.note_use(&secret).await;
        if !secret.get_str(&["metadata", "labels", INVALID_SINCE]).unwrap_or_default().is_empty() {
            return Err(self.invalidated());
        }
        Ok(account_user(namespace, name, &self.account_uid, Vec::new()))
    }

    fn check(&self) -> Result<(), TokenError> {
        let claims = [
            ("sub", &self.sub),
            ("namespace", &self.namespace),
            ("secretName", &self.secret_name),
            ("serviceAccountName", &self.account_name),
            ("serviceAccountUID", &self.account_uid),
        ];
        if let Some(&(missing, _)) = claims.iter().find(|(_, value)| value.is_empty()) {
            return Err(TokenError::MissingClaim(missing));
        }
        let account = ServiceAccountName { namespace: &self.namespace, name: &self.account_name };
        if self.sub != account.user_name() {
            return Err(TokenError::Subject);
        }
        Ok(())
    }

    fn invalidated(&self) -> TokenError {
        let Self { namespace, secret_name, account_name, .. } = self;
        TokenError::MarkedInvalid {
            namespace: namespace.clone(),
            secret: secret_name.clone(),
            account: account_name.clone(),
            label: INVALID_SINCE,
        }
    }
}

/// Returns whether a Secret contains this token. Compares hashes, so that timing reveals nothing about the
/// token.
fn keeps(secret: &Object, token: &str) -> bool {
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    let kept = secret.get_str(&["data", "token"]).unwrap_or_default();
    hash(kept).as_ref() == hash(&BASE64_STANDARD.encode(token)).as_ref()
}
