//! The audit policy: rules of which the first that matches a request decides its level.
//!
//! Kubernetes concept: [audit policy](https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/).

use std::path::Path;

use registry_core::api::go_text::quote;
use registry_core::api::validation::ErrorList;
use registry_core::codec::{DecodeError, Limits, yaml};
use registry_core::context::AuditLevel;
use serde::Deserialize;
use serde_json::Value;

use crate::access::Attributes;
use registry_core::json_fields::or_default;

use super::AuditError;

mod known;
#[cfg(test)]
mod tests;
mod validation;

/// An audit policy, as written in its file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    #[serde(deserialize_with = "or_default")]
    rules: Vec<PolicyRule>,
    /// Stages without events.
    #[serde(deserialize_with = "or_default")]
    omit_stages: Vec<String>,
    omit_managed_fields: bool,
}

/// A rule: the level of requests that match all of its conditions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PolicyRule {
    level: String,
    #[serde(deserialize_with = "or_default")]
    users: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    user_groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    resources: Vec<GroupResources>,
    #[serde(deserialize_with = "or_default")]
    namespaces: Vec<String>,
    #[serde(rename = "nonResourceURLs", deserialize_with = "or_default")]
    non_resource_urls: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    omit_stages: Vec<String>,
    omit_managed_fields: Option<bool>,
}

/// Resources of a group.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GroupResources {
    #[serde(deserialize_with = "or_default")]
    group: String,
    #[serde(deserialize_with = "or_default")]
    resources: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    resource_names: Vec<String>,
}

/// A stage of a request, at which an event is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The request was received, and its user is known.
    RequestReceived,
    /// The response of a long-running request has begun.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
    /// The request panicked.
    Panic,
}

/// The policy's decision about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The level.
    pub level: AuditLevel,
    /// Whether objects are recorded without their managed fields.
    pub omits_managed_fields: bool,
    omitted: [bool; 4],
}

/// Error of a policy that is not valid. Not retryable. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It is neither YAML nor JSON.
    #[error("failed decoding: couldn't get version/kind; json parse error: {0}")]
    Syntax(#[from] DecodeError),
    /// It lacks this field. The text does not show the file: one that is given by mistake may contain a secret.
    #[error("failed decoding: Object '{0}' is missing in the file")]
    Missing(&'static str),
    /// It is something else.
    #[error("failed decoding: no kind {} is registered for version {}", quote(.kind), quote(.api_version))]
    OtherKind {
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        api_version: String,
    },
    /// A field has the wrong type.
    #[error("failed decoding: {0}")]
    Fields(#[from] serde_json::Error),
    /// Fields have values that they cannot have.
    #[error("{0}")]
    Invalid(ErrorList),
    /// It has no rules.
    #[error("loaded illegal policy with 0 rules")]
    NoRules,
}

// === impl Stage ===

impl Stage {
    /// All stages.
    pub const ALL: [Self; 4] =
        [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    /// Returns the stage's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// Returns whether there is an event at this stage.
    pub fn records(&self, stage: Stage) -> bool {
        !Stage::ALL.into_iter().zip(self.omitted).any(|(known, omitted)| known == stage && omitted)
    }
}

// === impl Policy ===

impl Policy {
    /// Reads the policy in a file.
    ///
    /// # Errors
    /// Fails with Kubernetes' message if it cannot be read or is not valid.
    pub fn from_file(path: &Path) -> Result<Self, AuditError> {
        let path = path.to_owned();
        match std::fs::read(&path) {
            Ok(bytes) => Self::parse(&bytes).map_err(|source| AuditError::Policy { path, source }),
            Err(source) => Err(AuditError::UnreadablePolicy { path, source }),
        }
    }

    /// Parses a policy in YAML or JSON. Unknown and duplicate fields are ignored and logged, as in Kubernetes.
    ///
    /// # Errors
    /// Fails if it is not valid.
    pub fn parse(bytes: &[u8]) -> Result<Self, PolicyError> {
        let decoded = yaml::decode(bytes, &Limits::default())?;
        let value = decoded.value;
        check_type(&value)?;
        let mut issues = decoded.duplicates;
        known::unknown_fields(&value, &mut issues);
        if !issues.is_empty() {
            let issues = issues.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tracing::warn!("Audit policy contains errors, falling back to lenient decoding: {issues}");
        }
        let policy: Self = serde_json::from_value(value)?;
        let errors = policy.validate();
        if !errors.is_empty() {
            return Err(PolicyError::Invalid(errors));
        }
        if policy.rules.is_empty() {
            return Err(PolicyError::NoRules);
        }
        Ok(policy)
    }

    /// Returns what is recorded of a request. Without attributes of a user, only rules about all users match.
    pub fn evaluate(&self, attributes: &Attributes<'_>) -> Verdict {
        let rule = self.rules.iter().find(|rule| rule.matches(attributes));
        let level = rule.and_then(|rule| level_of(&rule.level)).unwrap_or_default();
        let omits_managed_fields =
            rule.and_then(|rule| rule.omit_managed_fields).unwrap_or(self.omit_managed_fields);
        let own = rule.map_or(&[] as &[String], |rule| &rule.omit_stages);
        let omitted =
            Stage::ALL.map(|stage| self.omit_stages.iter().chain(own).any(|name| name == stage.as_str()));
        Verdict { level, omits_managed_fields, omitted }
    }
}

fn check_type(value: &Value) -> Result<(), PolicyError> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    for (found, field) in [(kind, "Kind"), (api_version, "apiVersion")] {
        if found.is_empty() {
            return Err(PolicyError::Missing(field));
        }
    }
    if api_version != "audit.k8s.io/v1" || kind != "Policy" {
        return Err(PolicyError::OtherKind { kind: kind.to_owned(), api_version: api_version.to_owned() });
    }
    Ok(())
}

/// Returns the level with this name.
fn level_of(name: &str) -> Option<AuditLevel> {
    AuditLevel::ALL.into_iter().find(|level| level.as_str() == name)
}

// === impl PolicyRule ===

impl PolicyRule {
    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == wanted);
        if !self.users.is_empty() && !has(&self.users, &attributes.user.name) {
            return false;
        }
        if !self.user_groups.is_empty()
            && !attributes.user.groups.iter().any(|own| has(&self.user_groups, own))
        {
            return false;
        }
        if !self.verbs.is_empty() && !has(&self.verbs, attributes.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return self.matches_resource(attributes);
        }
        if !self.non_resource_urls.is_empty() {
            let is_other = attributes.resource.is_none();
            return is_other && self.non_resource_urls.iter().any(|spec| matches_path(attributes.path, spec));
        }
        true
    }

    fn matches_resource(&self, attributes: &Attributes<'_>) -> bool {
        let Some(request) = attributes.resource else { return false };
        if !self.namespaces.is_empty() && !self.namespaces.contains(&request.namespace) {
            return false;
        }
        self.resources.is_empty()
            || self.resources.iter().any(|group| {
                group.matches(&request.group, &request.resource, &request.subresource, &request.name)
            })
    }
}

fn matches_path(path: &str, spec: &str) -> bool {
    spec == "*" || spec == path || (spec.ends_with('*') && path.starts_with(spec.trim_end_matches('*')))
}

// === impl GroupResources ===

impl GroupResources {
    fn matches(&self, group: &str, resource: &str, subresource: &str, name: &str) -> bool {
        if self.group != group && self.group != "*" {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let is_named =
            self.resource_names.is_empty() || self.resource_names.iter().any(|entry| entry == name);
        is_named && self.resources.iter().any(|spec| matches_resource(spec, resource, subresource))
    }
}

/// Returns whether `pods`, `pods/status`, `pods/*`, `*/status` or `*` includes a resource or subresource.
fn matches_resource(spec: &str, resource: &str, subresource: &str) -> bool {
    if spec == "*" {
        return true;
    }
    match spec.split_once('/') {
        // `*/` names no subresource, so it includes nothing.
        Some(("*", wanted)) if !subresource.is_empty() && wanted == subresource => true,
        // As in Kubernetes, `pods/*` includes the pods themselves.
        Some((wanted, "*")) => wanted == resource,
        Some((wanted, part)) => !subresource.is_empty() && wanted == resource && part == subresource,
        None => subresource.is_empty() && spec == resource,
    }
}
