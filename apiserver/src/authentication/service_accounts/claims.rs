//! The claims of tokens.

use jiff::Timestamp;
use registry_core::context::ServiceAccountName;
use registry_core::rest::tokens::{TokenBinding, TokenClaims, TokenObject};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use super::error::TokenError;
use crate::authentication::jwt::{Unverified, is_after, whole_seconds};

/// Allowed clock skew.
const LEEWAY_SECONDS: i64 = 60;

/// The claims of a service account's token.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    #[serde(default, deserialize_with = "audiences")]
    aud: Vec<String>,
    #[serde(deserialize_with = "seconds")]
    exp: i64,
    #[serde(default, deserialize_with = "seconds")]
    iat: i64,
    iss: String,
    /// The token's id.
    #[serde(default)]
    pub(super) jti: String,
    #[serde(rename = "kubernetes.io")]
    pub(super) kubernetes: Kubernetes,
    #[serde(default, deserialize_with = "seconds")]
    nbf: i64,
    sub: String,
}

/// Claims specific to Kubernetes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kubernetes {
    pub(super) namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
    pub(super) serviceaccount: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warnafter: Option<i64>,
}

/// An object that a token refers to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reference {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
}

/// Audiences as RFC 7519 allows them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audiences {
    Single(String),
    List(Vec<String>),
}

fn audiences<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Audiences::deserialize(deserializer)? {
        Audiences::Single(audience) => vec![audience],
        Audiences::List(audiences) => audiences,
    })
}

/// Reads a time in seconds since 1970, which other signers may write with a fraction.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    whole_seconds(&number).ok_or_else(|| D::Error::custom("a time is out of range"))
}

// === impl Claims ===

impl Claims {
    /// Returns the claims of a token of one of these issuers, or `None` when it has another one.
    pub(super) fn from_token(token: &Unverified<'_>, issuers: &[String]) -> Option<Self> {
        let claims: Self = serde_json::from_slice(&token.claims).ok()?;
        issuers.contains(&claims.iss).then_some(claims)
    }

    /// Returns the claims of a new token.
    pub(super) fn to_issue(wanted: &TokenClaims, issuer: &str) -> Self {
        let now = wanted.issued_at_seconds;
        let mut node = None;
        let mut pod = None;
        let mut secret = None;
        match &wanted.binding {
            Some(TokenBinding::Pod(own, its_node)) => {
                pod = Some(own.into());
                node = its_node.as_ref().map(Reference::from);
            }
            Some(TokenBinding::Secret(own)) => secret = Some(own.into()),
            Some(TokenBinding::Node(own)) => node = Some(own.into()),
            None => {}
        }
        let account = ServiceAccountName { namespace: &wanted.namespace, name: &wanted.service_account.name };
        Self {
            aud: wanted.audiences.clone(),
            exp: now.saturating_add(wanted.lifetime_seconds),
            iat: now,
            iss: issuer.to_owned(),
            jti: registry_core::registry::store::new_uid(),
            kubernetes: Kubernetes {
                namespace: wanted.namespace.clone(),
                node,
                pod,
                secret,
                serviceaccount: (&wanted.service_account).into(),
                warnafter: wanted.warn_after_seconds.map(|seconds| now.saturating_add(seconds)),
            },
            nbf: now,
            sub: account.user_name(),
        }
    }

    /// Returns the account's user name.
    pub(super) fn user_name(&self) -> String {
        let Kubernetes { namespace, serviceaccount, .. } = &self.kubernetes;
        ServiceAccountName { namespace, name: &serviceaccount.name }.user_name()
    }

    /// Returns those of these audiences that the token is valid for.
    ///
    /// # Errors
    /// Fails if there are none, or if the claims are contradictory.
    pub(super) fn meant_for(&self, audiences: &[String]) -> Result<Vec<String>, TokenError> {
        if self.sub != self.user_name() {
            return Err(TokenError::Claims);
        }
        meant_for(&self.aud, audiences)
    }

    /// Checks that the token is valid at this time.
    ///
    /// # Errors
    /// Fails if it is not valid yet, has expired, or was issued in the future.
    pub(super) fn check_time(&self, now: Timestamp) -> Result<(), TokenError> {
        let soon = now.as_second().saturating_add(LEEWAY_SECONDS);
        if soon < self.nbf {
            return Err(TokenError::NotYetValid);
        }
        if is_after(now, self.exp.saturating_add(LEEWAY_SECONDS)) {
            return Err(TokenError::Expired);
        }
        if soon < self.iat {
            return Err(TokenError::IssuedInFuture);
        }
        Ok(())
    }
}

impl From<&TokenObject> for Reference {
    fn from(object: &TokenObject) -> Self {
        Self { name: object.name.clone(), uid: object.uid.clone() }
    }
}

/// Returns those of the token's audiences that are wanted.
///
/// # Errors
/// Fails if there are none.
pub(super) fn meant_for(own: &[String], wanted: &[String]) -> Result<Vec<String>, TokenError> {
    let both: Vec<String> = own.iter().filter(|audience| wanted.contains(audience)).cloned().collect();
    if both.is_empty() {
        return Err(TokenError::Audiences { own: own.to_vec(), wanted: wanted.to_vec() });
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_other_signers_are_read_as_go_reads_them() {
        let read = |aud: serde_json::Value, exp: serde_json::Value| {
            let kubernetes = serde_json::json!({"namespace": "n", "serviceaccount": {"name": "a"}});
            let claims = serde_json::json!({
                "aud": aud, "exp": exp, "iss": "i", "sub": "s", "kubernetes.io": kubernetes
            });
            serde_json::from_value(claims).map(|claims: Claims| (claims.aud, claims.exp)).ok()
        };
        let expected = Some((vec!["a".to_owned()], 1_795_746_347));
        assert_eq!(read("a".into(), 1_795_746_347.5.into()), expected);
        assert_eq!(read(vec!["a"].into(), 1_795_746_347.into()), expected);
        for (aud, exp) in [(1.into(), 1.into()), ("a".into(), "1".into()), ("a".into(), 1e300.into())] {
            assert_eq!(read(aud, exp), None);
        }
    }

    #[test]
    fn times_are_compared_exactly_with_a_minute_for_the_difference_of_clocks() {
        let claims = |exp: i64, nbf: i64, iat: i64| -> Claims {
            let kubernetes = serde_json::json!({"namespace": "n", "serviceaccount": {"name": "a"}});
            let claims = serde_json::json!({
                "exp": exp, "iat": iat, "iss": "i", "nbf": nbf, "sub": "s", "kubernetes.io": kubernetes
            });
            serde_json::from_value(claims).unwrap()
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let beginning = at("1970-01-01T00:16:40Z");
        let checked =
            |claims: Claims, now: Timestamp| claims.check_time(now).err().map(|error| error.to_string());
        let expired = Some("service account token has expired".to_owned());
        assert_eq!(checked(claims(940, 0, 0), beginning), None);
        assert_eq!(checked(claims(940, 0, 0), at("1970-01-01T00:16:40.000000001Z")), expired);
        assert_eq!(checked(claims(940, 0, 0), at("1970-01-01T00:16:40.999Z")), expired);
        assert_eq!(checked(claims(939, 0, 0), beginning), expired);
        let not_yet = Some("service account token is not valid yet".to_owned());
        assert_eq!(checked(claims(9_999, 1_060, 0), beginning), None);
        assert_eq!(checked(claims(9_999, 1_061, 0), at("1970-01-01T00:16:40.999Z")), not_yet);
        // As in Kubernetes, the beginning is checked first.
        assert_eq!(checked(claims(0, 1_061, 1_061), beginning), not_yet);
        let from_the_future = Some("service account token is issued in the future".to_owned());
        assert_eq!(checked(claims(9_999, 0, 1_061), beginning), from_the_future);
        assert_eq!(checked(claims(i64::MAX, i64::MIN, i64::MIN), beginning), None);
    }
}
