//! Bootstrap tokens: a machine that joins the cluster shows `id.secret`, which is kept in the Secret
//! `bootstrap-token-<id>` of `kube-system`.
//!
//! Kubernetes concept:
//! [bootstrap tokens](https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/).

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use registry_core::RequestContext;
use registry_core::api::{GetOptions, Object, StatusError, time};
use registry_core::context::UserInfo;
use registry_core::registry::Stores;
use registry_core::resource::Resource as _;
use registry_core::rest::access::InvalidToken;
use registry_core::rest::{Answer, Getter as _};
use resources::api::core::secrets::Secrets;
use ring::digest::{SHA256, digest};

use super::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenOutcome, TokenPurpose};

const NAMESPACE: &str = "kube-system";
const NAME_PREFIX: &str = "bootstrap-token-";
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
/// The group of all users of bootstrap tokens; further groups begin with it.
const GROUP: &str = "system:bootstrappers";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 16;
/// Maximum length of a further group behind its prefix.
const MAX_GROUP_BYTES: usize = 256;

/// Authenticates the users of bootstrap tokens.
pub(super) struct BootstrapTokens {
    stores: Stores,
}

// === impl BootstrapTokens ===

impl BootstrapTokens {
    pub(super) fn new(stores: Stores) -> Self {
        Self { stores }
    }

    async fn authenticate_token(&self, id: &str, secret: &str) -> TokenOutcome {
        let kept = self.find(id).await.map_err(InvalidToken::refused)?;
        let Some(kept) = kept else { return Ok(None) };
        match user(&kept, id, secret, Timestamp::now()) {
            Ok(user) => Ok(Some(AuthenticatedToken { user, audiences: None })),
            Err(reason) => {
                tracing::debug!(secret = kept.name(), "a bootstrap token was refused: {reason}");
                Ok(None)
            }
        }
    }

    /// Returns the Secret of a token, from the cache: a token that nobody knows costs no access to the storage.
    async fn find(&self, id: &str) -> Result<Option<Object>, StatusError> {
        let Some(store) = self.stores.get(Secrets::TYPE) else { return Ok(None) };
        let context = RequestContext::system(NAMESPACE);
        let options = GetOptions { resource_version: Some(0) };
        match store.get(&context, &format!("{NAME_PREFIX}{id}"), &options).await {
            Ok(Answer::Stored(entry)) => store.read(&entry).map(Some),
            Ok(_) => Ok(None),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

impl TokenAuthenticator for BootstrapTokens {
    fn authenticate<'a>(&'a self, token: &'a str, _: TokenPurpose<'a>) -> TokenAnswer<'a> {
        match parts(token) {
            Some((id, secret)) => TokenAnswer::Later(Box::pin(self.authenticate_token(id, secret))),
            None => TokenAnswer::Now(Ok(None)),
        }
    }
}

/// Returns the id and the secret of a bootstrap token, or `None` for another kind of token.
fn parts(token: &str) -> Option<(&str, &str)> {
    let is_part = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let (id, secret) = token.split_once('.')?;
    (is_part(id, ID_BYTES) && is_part(secret, SECRET_BYTES)).then_some((id, secret))
}

/// Returns the user of a token that this Secret is said to keep.
///
/// # Errors
/// Returns the reason why it is not accepted.
fn user(kept: &Object, id: &str, secret: &str, now: Timestamp) -> Result<UserInfo, &'static str> {
    if kept.deletion_timestamp().is_some() {
        return Err("it is being deleted");
    }
    if kept.get_str(&["type"]) != Some(SECRET_TYPE) {
        return Err("its type is another one");
    }
    // Hashes are compared, so that timing reveals nothing about the secret.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    if hash(&datum(kept, "token-secret")).as_ref() != hash(secret).as_ref() {
        return Err("the token's secret is wrong");
    }
    if datum(kept, "token-id") != id {
        return Err("its token-id is another one");
    }
    let expiration = datum(kept, "expiration");
    if !expiration.is_empty() && time::parse(&expiration).is_none_or(|end| end <= now) {
        return Err("it has expired");
    }
    if datum(kept, "usage-bootstrap-authentication") != "true" {
        return Err("it is not meant for authentication");
    }
    let groups = groups(&datum(kept, "auth-extra-groups"))?;
    Ok(UserInfo { name: format!("{USER_PREFIX}{id}"), groups, ..UserInfo::default() })
}

/// Returns a value of a Secret; empty if it is missing or no text.
fn datum(kept: &Object, key: &str) -> String {
    let encoded = kept.get_str(&["data", key]).unwrap_or_default();
    let decoded = BASE64_STANDARD.decode(encoded).unwrap_or_default();
    String::from_utf8(decoded).unwrap_or_default()
}

/// Returns the groups of a token, sorted.
fn groups(further: &str) -> Result<Vec<String>, &'static str> {
    let mut groups = BTreeSet::from([GROUP.to_owned()]);
    for group in further.split(',').filter(|_| !further.is_empty()) {
        let rest = group.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_valid = rest.len() <= MAX_GROUP_BYTES
            && rest.bytes().all(|byte| is_letter(byte) || matches!(byte, b':' | b'-'))
            && rest.bytes().last().is_some_and(is_letter);
        if !is_valid {
            return Err("one of its groups is not a group of bootstrap tokens");
        }
        groups.insert(group.to_owned());
    }
    Ok(groups.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn secret(change: impl FnOnce(&mut Value)) -> Object {
        let encode = |text: &str| BASE64_STANDARD.encode(text);
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "bootstrap-token-abcdef", "namespace": NAMESPACE },
            "type": SECRET_TYPE,
            "data": {
                "token-id": encode("abcdef"),
                "token-secret": encode("0123456789abcdef"),
                "usage-bootstrap-authentication": encode("true"),
            },
        });
        change(&mut secret);
        Object::from_value(secret).unwrap()
    }

    fn outcome(change: impl FnOnce(&mut Value)) -> Result<Vec<String>, &'static str> {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let user = user(&secret(change), "abcdef", "0123456789abcdef", now)?;
        assert_eq!(user.name, "system:bootstrap:abcdef");
        Ok(user.groups)
    }

    #[test]
    fn tokens_have_one_form() {
        assert_eq!(parts("abcdef.0123456789abcdef"), Some(("abcdef", "0123456789abcdef")));
        for other in [
            "",
            ".",
            "abcdef",
            "ABCDEF.0123456789abcdef",
            "abcdef.0123456789abcde",
            "abcde.0123456789abcdef",
            "abcdef.0123456789abcdef.x",
            "abcdef.0123456789abcdéf",
            "../../.0123456789abcdef",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn a_secret_says_who_shows_its_token() {
        let encode = |text: &str| Value::from(BASE64_STANDARD.encode(text));
        assert_eq!(outcome(|_| ()), Ok(vec![GROUP.to_owned()]));
        let further = "system:bootstrappers:z,system:bootstrappers:a:b";
        let groups = outcome(|secret| secret["data"]["auth-extra-groups"] = encode(further));
        assert_eq!(groups.unwrap(), [GROUP, "system:bootstrappers:a:b", "system:bootstrappers:z"]);
        let later = outcome(|secret| secret["data"]["expiration"] = encode("2026-01-01T00:00:01Z"));
        assert!(later.is_ok());
    }

    #[test]
    fn anything_else_in_the_secret_refuses_the_token() {
        let encode = |text: &str| Value::from(BASE64_STANDARD.encode(text));
        let data = |key: &'static str, value: &'static str| {
            move |secret: &mut Value| secret["data"][key] = Value::from(BASE64_STANDARD.encode(value))
        };
        assert!(outcome(|secret| secret["type"] = json!("Opaque")).is_err());
        assert!(
            outcome(|secret| secret["metadata"]["deletionTimestamp"] = json!("2027-01-01T00:00:00Z"))
                .is_err()
        );
        assert!(outcome(|secret| secret["data"] = Value::Null).is_err());
        assert!(outcome(|secret| secret["data"]["token-secret"] = encode("")).is_err());
        for (key, value) in [
            ("token-secret", "0123456789abcdeg"),
            ("token-id", "fedcba"),
            ("expiration", "2026-01-01T00:00:00Z"),
            ("expiration", "never"),
            ("usage-bootstrap-authentication", "True"),
            ("usage-bootstrap-authentication", ""),
            ("auth-extra-groups", "system:masters"),
            ("auth-extra-groups", "system:bootstrappers:a,system:masters"),
            ("auth-extra-groups", "system:bootstrappers:"),
            ("auth-extra-groups", "system:bootstrappers:a-"),
            ("auth-extra-groups", "system:bootstrappers:a, system:bootstrappers:b"),
        ] {
            assert!(outcome(data(key, value)).is_err(), "{key}={value}");
        }
    }
}
