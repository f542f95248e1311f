//! The users, permissions and tokens that the server of the tables knows.

use async_trait::async_trait;
use registry_core::context::UserInfo;
use registry_core::rest::access::{
    AccessDecision, AccessReviewer, AccessRules, InvalidToken, KnownToken, PathRule, ResourceRule,
    WantedAccess,
};
use serde_json::{Value, json};

use super::sorted;

/// The token of `jane`, for the audiences `a` and `b`; `a` is the server's own.
pub(crate) const TOKEN: &str = "token-of-jane";

/// The users and permissions that reviews ask about.
pub(crate) struct Known;

#[async_trait]
impl AccessReviewer for Known {
    async fn decide(&self, _: &UserInfo, _: &WantedAccess) -> AccessDecision {
        AccessDecision::default()
    }

    async fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let resource = ResourceRule {
            verbs: texts(&["get", "list"]),
            groups: texts(&["", "apps"]),
            resources: texts(&["pods"]),
            names: if namespace == "named" { texts(&["p"]) } else { Vec::new() },
        };
        let path = PathRule { verbs: texts(&["get"]), paths: texts(&["/healthz"]) };
        AccessRules {
            resources: vec![resource],
            paths: if user.name == "jane" { vec![path] } else { Vec::new() },
            incomplete: namespace == "unknown",
            error: if namespace == "unknown" { "no such namespace".to_owned() } else { String::new() },
        }
    }

    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken> {
        let own = ["a".to_owned()];
        let wanted = if audiences.is_empty() { &own } else { audiences };
        let known: Vec<String> =
            wanted.iter().filter(|audience| *audience == "a" || *audience == "b").cloned().collect();
        if token != TOKEN || known.is_empty() {
            return Err(InvalidToken::Unknown);
        }
        Ok(KnownToken { user: user_of(&json!({"name": "jane", "uid": "1"})), audiences: known })
    }
}

/// Returns the user of a case.
pub(crate) fn user_of(user: &Value) -> UserInfo {
    let text = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let extra = user["extra"].as_object().into_iter().flatten();
    UserInfo {
        name: text("name"),
        uid: text("uid"),
        groups: sorted(&user["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), sorted(values))).collect(),
    }
}
