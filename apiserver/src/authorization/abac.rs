//! Attribute-based access control: policies from a file, one JSON object per line.
//!
//! Kubernetes concept: `pkg/auth/authorizer/abac`.

use std::io;
use std::path::{Path, PathBuf};

use registry_core::context::{AUTHENTICATED, UserInfo};
use registry_core::rest::access::{AccessRules, PathRule, ResourceRule};
use serde::Deserialize;
use serde_json::Value;

use super::{Attributes, Decision};

/// The version of policies that name one.
const API_VERSION: &str = "abac.authorization.kubernetes.io/v1beta1";
/// Matches everything.
const ALL: &str = "*";

/// Authorizes by policies.
pub(super) struct AbacAuthorizer {
    policies: Vec<Policy>,
}

/// A policy. Empty fields match nothing but requests without that attribute.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Policy {
    user: String,
    group: String,
    readonly: bool,
    api_group: String,
    resource: String,
    namespace: String,
    #[serde(rename = "nonResourcePath")]
    path: String,
}

/// Error of a file of policies. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    #[error("error reading policy file {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("error reading policy file {}, line {line}: {source}", .path.display())]
    Line { path: PathBuf, line: usize, source: PolicyError },
}

/// Error of a line that is not a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("unrecognized object: {version} {kind}")]
    OtherKind { version: String, kind: String },
}

// === impl AbacAuthorizer ===

impl AbacAuthorizer {
    /// Reads the policies of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or a line is not a policy; the text says where.
    pub(super) fn from_file(path: &Path) -> Result<Self, PolicyFileError> {
        let path = path.to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                Self::parse(&text).map_err(|(line, source)| PolicyFileError::Line { path, line, source })
            }
            Err(source) => Err(PolicyFileError::Unreadable { path, source }),
        }
    }

    /// Parses policies; an error has the number of its line.
    fn parse(text: &str) -> Result<Self, (usize, PolicyError)> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let policies = lines.map(|(at, line)| Policy::parse(line).map_err(|error| (at, error)));
        Ok(Self { policies: policies.collect::<Result<_, _>>()? })
    }

    /// Decides whether a policy allows the request.
    pub(super) fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if self.policies.iter().any(|policy| policy.allows(attributes)) {
            return Decision::allow("");
        }
        Decision::no_opinion("No policy matched.")
    }

    /// Returns what a user may do in a namespace.
    pub(super) fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let mut rules = AccessRules::default();
        let is_here = |policy: &&Policy| policy.namespace == ALL || policy.namespace == namespace;
        for policy in self.policies.iter().filter(|policy| policy.is_about(user)).filter(is_here) {
            let verbs: &[&str] = if policy.readonly { &["get", "list", "watch"] } else { &[ALL] };
            let verbs: Vec<String> = verbs.iter().map(|&verb| verb.to_owned()).collect();
            if !policy.resource.is_empty() {
                rules.resources.push(ResourceRule {
                    verbs: verbs.clone(),
                    groups: vec![policy.api_group.clone()],
                    resources: vec![policy.resource.clone()],
                    names: Vec::new(),
                });
            }
            if !policy.path.is_empty() {
                rules.paths.push(PathRule { verbs, paths: vec![policy.path.clone()] });
            }
        }
        rules
    }
}

// === impl Policy ===

impl Policy {
    fn parse(line: &str) -> Result<Self, PolicyError> {
        let value: Value = serde_json::from_str(line)?;
        let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
        match (text("apiVersion"), text("kind")) {
            (API_VERSION, "Policy") => {
                let spec =
                    value.get("spec").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                let policy: Self = serde_json::from_value(spec)?;
                Ok(policy.with_all_authenticated())
            }
            ("", _) | (_, "") => {
                let policy: Self = serde_json::from_value(value)?;
                Ok(policy.with_absent_fields_as_wildcards())
            }
            (version, kind) => {
                Err(PolicyError::OtherKind { version: version.to_owned(), kind: kind.to_owned() })
            }
        }
    }

    /// `*` as user or group stands for all authenticated users.
    fn with_all_authenticated(mut self) -> Self {
        if self.user == ALL || self.group == ALL {
            AUTHENTICATED.clone_into(&mut self.group);
            self.user.clear();
        }
        self
    }

    /// In policies without a version, absent fields match everything.
    fn with_absent_fields_as_wildcards(mut self) -> Self {
        if self.user.is_empty() && self.group.is_empty() {
            AUTHENTICATED.clone_into(&mut self.group);
        }
        for field in [&mut self.resource, &mut self.namespace] {
            if field.is_empty() {
                ALL.clone_into(field);
            }
        }
        ALL.clone_into(&mut self.api_group);
        ALL.clone_into(&mut self.path);
        self.with_all_authenticated()
    }

    fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let is_read = matches!(attributes.verb, "get" | "list" | "watch");
        self.is_about(attributes.user) && (is_read || !self.readonly) && self.is_for(attributes)
    }

    /// Whether the user, and the group, are the policy's, as far as it names them.
    fn is_about(&self, user: &UserInfo) -> bool {
        let by_user = self.user.is_empty() || self.user == user.name;
        let by_group = self.group.is_empty() || user.groups.contains(&self.group);
        let names_one = !self.user.is_empty() || !self.group.is_empty();
        names_one && by_user && by_group
    }

    fn is_for(&self, attributes: &Attributes<'_>) -> bool {
        let matches = |own: &str, asked: &str| own == ALL || own == asked;
        if let Some(resource) = attributes.resource {
            return matches(&self.namespace, &resource.namespace)
                && matches(&self.resource, &resource.resource)
                && matches(&self.api_group, &resource.group);
        }
        let is_prefix = self.path.ends_with('*');
        let below = is_prefix && attributes.path.starts_with(self.path.trim_end_matches('*'));
        below || self.path == attributes.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use request_info::RequestInfo;

    const POLICIES: &str = r#"
        # a comment
        {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "alice", "namespace": "a", "resource": "pods", "readonly": true}}
        {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"group": "*", "nonResourcePath": "/api*", "readonly": true}}
        {"user": "bob"}
    "#;

    #[test]
    fn policies_allow_what_they_name_and_nothing_else() {
        let abac = AbacAuthorizer::parse(POLICIES).unwrap();
        for (name, method, uri, allowed) in [
            ("alice", "GET", "/api/v1/namespaces/a/pods", true),
            ("alice", "DELETE", "/api/v1/namespaces/a/pods/x", false),
            ("alice", "GET", "/api/v1/namespaces/b/pods", false),
            ("alice", "GET", "/api/v1/pods", false),
            ("alice", "GET", "/apis/extensions/v1/namespaces/a/pods", false),
            ("alice", "GET", "/apis", true),
            ("alice", "POST", "/apis", false),
            ("alice", "GET", "/metrics", false),
            ("bob", "DELETE", "/api/v1/namespaces/b/secrets", true),
            ("carol", "GET", "/api/v1/namespaces/a/pods", false),
        ] {
            let groups = vec![AUTHENTICATED.to_owned()];
            let user = UserInfo { name: name.to_owned(), groups, ..UserInfo::default() };
            let info = RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap());
            let decision = abac.authorize(&Attributes::from_request(&user, &info));
            assert_eq!(decision.is_allow(), allowed, "{name} {method} {uri}");
        }
        let anonymous = UserInfo { name: "system:anonymous".to_owned(), ..UserInfo::default() };
        let info = RequestInfo::parse(&http::Method::GET, &"/apis".parse().unwrap());
        assert!(!abac.authorize(&Attributes::from_request(&anonymous, &info)).is_allow());
    }

    #[test]
    fn a_line_that_is_no_policy_is_named() {
        let failed = AbacAuthorizer::parse("{}\n{\"apiVersion\": \"v9\", \"kind\": \"Policy\"}");
        let failed = failed.err().map(|(line, error)| (line, error.to_string()));
        assert_eq!(failed, Some((2, "unrecognized object: v9 Policy".to_owned())));
        assert_eq!(AbacAuthorizer::parse("\n\nnonsense").err().map(|(line, _)| line), Some(3));
    }
}
