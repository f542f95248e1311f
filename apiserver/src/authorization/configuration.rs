//! `--authorization-config`: a file with the authorizers, their order, and the webhooks with their conditions.
//!
//! Kubernetes concept: `AuthorizationConfiguration` of `apiserver.config.k8s.io`.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use registry_core::api::validation::names;
use registry_core::codec::configuration::{DecodingError, decode};
use serde::Deserialize;

use crate::options::{AuthorizationMode, DurationError, parse_duration};

use super::conditions::{ConditionError, MatchConditions};
use super::review_spec::ReviewVersion;
use super::webhook::WebhookSettings;

/// The versions of the file.
const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
/// Maximum time of a call of a webhook.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// An authorizer of the file, with its name.
pub(super) struct ConfiguredAuthorizer {
    pub(super) name: String,
    pub(super) kind: Configured,
}

/// The kind of an authorizer.
pub(super) enum Configured {
    /// One that needs no settings.
    Mode(AuthorizationMode),
    /// A webhook.
    Webhook(Box<ConfiguredWebhook>),
}

/// A webhook of the file.
pub(super) struct ConfiguredWebhook {
    /// The file with its address and credentials.
    pub(super) kubeconfig: PathBuf,
    /// The settings of its calls.
    pub(super) settings: WebhookSettings,
    /// The requests about which it is asked.
    pub(super) conditions: MatchConditions,
}

/// Error of a file that configures no authorizers. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    #[error(transparent)]
    Decoding(#[from] DecodingError),
    #[error("authorizers: Required value: at least one authorization mode must be defined")]
    NoAuthorizers,
    #[error("authorizers[{at}].{source}")]
    Authorizer { at: usize, source: EntryError },
}

/// Error of an authorizer of a file.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("{0}: Required value")]
    Required(&'static str),
    #[error("name: Invalid value: {name:?}: authorizer name is invalid: {complaint}")]
    Name { name: String, complaint: String },
    #[error("{field}: Duplicate value: {value:?}")]
    Duplicate { field: &'static str, value: String },
    #[error("type: Unsupported value: {0:?}")]
    Type(String),
    #[error("webhook: Required value: required when type=Webhook")]
    NoWebhook,
    #[error("webhook: Invalid value: may only be specified when type=Webhook")]
    NeedlessWebhook,
    #[error("webhook.connectionInfo.type: Unsupported value: {0:?}: supported values: \"KubeConfigFile\"")]
    ConnectionType(String),
    #[error("webhook.connectionInfo.kubeConfigFile: Invalid value: must be an absolute path")]
    RelativeKubeconfig,
    #[error("{0}: Invalid value: must be > 0s")]
    ZeroDuration(&'static str),
    #[error("{field}: Invalid value: {source}")]
    Duration { field: &'static str, source: DurationError },
    #[error("webhook.timeout: Invalid value: {0:?}: must be > 0s and <= 30s")]
    LongTimeout(String),
    #[error(
        "webhook.subjectAccessReviewVersion: Unsupported value: {0:?}: supported values: \"v1\", \"v1beta1\""
    )]
    ReviewVersion(String),
    #[error("webhook.matchConditionSubjectAccessReviewVersion: must be v1 if match conditions are specified")]
    ConditionVersion,
    #[error("webhook.failurePolicy: Unsupported value: {0:?}: supported values: \"NoOpinion\", \"Deny\"")]
    FailurePolicy(String),
    #[error("webhook.matchConditions[{at}].expression: Invalid value: {source}")]
    Condition { at: usize, source: ConditionError },
}

/// The file as it is written.
#[derive(Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenConfiguration {
    #[serde(default)]
    authorizers: Vec<Entry>,
}

#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
    webhook: Option<Webhook>,
}

#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Webhook {
    #[serde(rename = "authorizedTTL")]
    authorized_ttl: String,
    cache_authorized_requests: bool,
    #[serde(rename = "unauthorizedTTL")]
    unauthorized_ttl: String,
    cache_unauthorized_requests: bool,
    timeout: String,
    subject_access_review_version: String,
    match_condition_subject_access_review_version: String,
    failure_policy: String,
    connection_info: ConnectionInfo,
    match_conditions: Vec<Condition>,
}

#[derive(Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ConnectionInfo {
    #[serde(rename = "type")]
    kind: String,
    kube_config_file: Option<PathBuf>,
}

#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Condition {
    #[serde(default)]
    expression: String,
}

impl Default for Webhook {
    fn default() -> Self {
        Self {
            authorized_ttl: "5m".to_owned(),
            cache_authorized_requests: true,
            unauthorized_ttl: "30s".to_owned(),
            cache_unauthorized_requests: true,
            timeout: String::new(),
            subject_access_review_version: String::new(),
            match_condition_subject_access_review_version: String::new(),
            failure_policy: String::new(),
            connection_info: ConnectionInfo::default(),
            match_conditions: Vec::new(),
        }
    }
}

/// Reads the authorizers of a file. They are returned with the file as it is written.
///
/// # Errors
/// Fails if it is not valid; the text names the field.
pub(super) fn parse(
    text: &[u8],
) -> Result<(WrittenConfiguration, Vec<ConfiguredAuthorizer>), ConfigurationError> {
    let written: WrittenConfiguration = decode(text, "AuthorizationConfiguration", &VERSIONS)?;
    if written.authorizers.is_empty() {
        return Err(ConfigurationError::NoAuthorizers);
    }
    let mut names = HashSet::new();
    let mut modes = HashSet::new();
    let mut configured = |entry: Entry| {
        entry.check_name(&mut names)?;
        if entry.kind != "Webhook" && !modes.insert(entry.kind.clone()) {
            return Err(EntryError::Duplicate { field: "type", value: entry.kind });
        }
        Ok(ConfiguredAuthorizer { name: entry.name.clone(), kind: entry.configured()? })
    };
    let entries = written.authorizers.iter().enumerate().map(|(at, entry)| {
        configured(entry.clone()).map_err(|source| ConfigurationError::Authorizer { at, source })
    });
    let entries = entries.collect::<Result<_, _>>()?;
    Ok((written, entries))
}

// === impl Configured ===

impl Configured {
    /// Returns the name of the kind.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Mode(AuthorizationMode::AlwaysAllow) => "AlwaysAllow",
            Self::Mode(AuthorizationMode::AlwaysDeny) => "AlwaysDeny",
            Self::Mode(AuthorizationMode::Abac) => "ABAC",
            Self::Mode(AuthorizationMode::Node) => "Node",
            Self::Mode(AuthorizationMode::Rbac) => "RBAC",
            Self::Mode(AuthorizationMode::Webhook) | Self::Webhook(_) => "Webhook",
        }
    }

    /// Returns the modes among these authorizers, without webhooks.
    pub(super) fn modes(all: &[ConfiguredAuthorizer]) -> Vec<AuthorizationMode> {
        let mode = |authorizer: &ConfiguredAuthorizer| match authorizer.kind {
            Self::Mode(mode) => (mode != AuthorizationMode::Webhook).then_some(mode),
            Self::Webhook(_) => None,
        };
        all.iter().filter_map(mode).collect()
    }
}

// === impl Entry ===

impl Entry {
    fn check_name(&self, names: &mut HashSet<String>) -> Result<(), EntryError> {
        if self.name.is_empty() {
            return Err(EntryError::Required("name"));
        }
        if let Some(complaint) = names::dns_subdomain(&self.name).first() {
            return Err(EntryError::Name { name: self.name.clone(), complaint: complaint.clone() });
        }
        if !names.insert(self.name.clone()) {
            return Err(EntryError::Duplicate { field: "name", value: self.name.clone() });
        }
        Ok(())
    }

    fn configured(self) -> Result<Configured, EntryError> {
        let mode = match self.kind.as_str() {
            "Webhook" => {
                let webhook = self.webhook.ok_or(EntryError::NoWebhook)?;
                return Ok(Configured::Webhook(Box::new(webhook.configured()?)));
            }
            "AlwaysAllow" => AuthorizationMode::AlwaysAllow,
            "AlwaysDeny" => AuthorizationMode::AlwaysDeny,
            "ABAC" => AuthorizationMode::Abac,
            "Node" => AuthorizationMode::Node,
            "RBAC" => AuthorizationMode::Rbac,
            "" => return Err(EntryError::Required("type")),
            other => return Err(EntryError::Type(other.to_owned())),
        };
        if self.webhook.is_some() {
            return Err(EntryError::NeedlessWebhook);
        }
        Ok(Configured::Mode(mode))
    }
}

// === impl Webhook ===

impl Webhook {
    fn configured(self) -> Result<ConfiguredWebhook, EntryError> {
        let kubeconfig = self.kubeconfig()?;
        let duration = |field: &'static str, text: &str| match parse_duration(text) {
            _ if text.is_empty() => Err(EntryError::Required(field)),
            Ok(duration) if duration.is_zero() => Err(EntryError::ZeroDuration(field)),
            Ok(duration) => Ok(duration),
            Err(source) => Err(EntryError::Duration { field, source }),
        };
        let timeout = duration("webhook.timeout", &self.timeout)?;
        if timeout > MAX_TIMEOUT {
            return Err(EntryError::LongTimeout(self.timeout));
        }
        let version = ReviewVersion::from_name(&self.subject_access_review_version)
            .ok_or(EntryError::ReviewVersion(self.subject_access_review_version))?;
        let is_known = match self.match_condition_subject_access_review_version.as_str() {
            "" => self.match_conditions.is_empty(),
            version => version == "v1",
        };
        if !is_known {
            return Err(EntryError::ConditionVersion);
        }
        let denies_on_failure = match self.failure_policy.as_str() {
            "Deny" => true,
            "NoOpinion" => false,
            other => return Err(EntryError::FailurePolicy(other.to_owned())),
        };
        let authorized_ttl = duration("webhook.authorizedTTL", &self.authorized_ttl)?;
        let unauthorized_ttl = duration("webhook.unauthorizedTTL", &self.unauthorized_ttl)?;
        let expressions: Vec<String> =
            self.match_conditions.into_iter().map(|condition| condition.expression).collect();
        let conditions = MatchConditions::new(&expressions)
            .map_err(|(at, source)| EntryError::Condition { at, source })?;
        let settings = WebhookSettings {
            authorized_ttl: if self.cache_authorized_requests { authorized_ttl } else { Duration::ZERO },
            unauthorized_ttl: if self.cache_unauthorized_requests {
                unauthorized_ttl
            } else {
                Duration::ZERO
            },
            timeout,
            version,
            denies_on_failure,
        };
        Ok(ConfiguredWebhook { kubeconfig, settings, conditions })
    }

    fn kubeconfig(&self) -> Result<PathBuf, EntryError> {
        let info = &self.connection_info;
        if info.kind != "KubeConfigFile" {
            return Err(EntryError::ConnectionType(info.kind.clone()));
        }
        let file = info.kube_config_file.clone().filter(|file| !file.as_os_str().is_empty());
        let file = file.ok_or(EntryError::Required("webhook.connectionInfo.kubeConfigFile"))?;
        if !file.is_absolute() {
            return Err(EntryError::RelativeKubeconfig);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n";
    const WEBHOOK: &str = "
- type: Webhook
  name: policy.example.com
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /etc/policy.kubeconfig}
    matchConditions: [{expression: has(request.resourceAttributes)}]
";

    fn kinds(text: &str) -> Result<Vec<&'static str>, String> {
        let (_, configured) = parse(format!("{HEAD}{text}").as_bytes()).map_err(|error| error.to_string())?;
        let kind = |authorizer: &ConfiguredAuthorizer| match &authorizer.kind {
            Configured::Mode(AuthorizationMode::Node) => "Node",
            Configured::Mode(AuthorizationMode::Rbac) => "RBAC",
            Configured::Mode(_) => "other",
            Configured::Webhook(webhook) if webhook.settings.denies_on_failure => "Webhook",
            Configured::Webhook(_) => "open webhook",
        };
        Ok(configured.iter().map(kind).collect())
    }

    #[test]
    fn authorizers_are_read_in_order() {
        let text = format!("- {{type: Node, name: node}}\n{WEBHOOK}\n- {{type: RBAC, name: rbac}}\n");
        assert_eq!(kinds(&text), Ok(vec!["Node", "Webhook", "RBAC"]));
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        let replaced = |from: &str, to: &str| WEBHOOK.replace(from, to);
        for (text, place) in [
            (String::new(), "authorizers: "),
            ("- {type: Node}".to_owned(), "authorizers[0].name: "),
            ("- {type: Zork, name: z}".to_owned(), "authorizers[0].type: "),
            ("- {type: Node, name: a}\n- {type: Node, name: b}".to_owned(), "authorizers[1].type: "),
            ("- {type: Node, name: a}\n- {type: RBAC, name: a}".to_owned(), "authorizers[1].name: "),
            ("- {type: Webhook, name: a}".to_owned(), "authorizers[0].webhook: "),
            (replaced("3s", "31s"), "authorizers[0].webhook.timeout: "),
            (replaced("timeout: 3s", "authorizedTTL: 1s"), "authorizers[0].webhook.timeout: "),
            (
                replaced("Version: v1\n    match", "Version: v2\n    match"),
                "authorizers[0].webhook.subjectAccess",
            ),
            (replaced("Deny", "Ignore"), "authorizers[0].webhook.failurePolicy: "),
            (replaced("/etc", "etc"), "authorizers[0].webhook.connectionInfo.kubeConfigFile: "),
            (
                replaced("has(request.resourceAttributes)", "request.zork"),
                "authorizers[0].webhook.matchConditions[0]",
            ),
            (replaced("timeout", "timeOut"), "strict decoding error: unknown field `timeOut`"),
        ] {
            let refused = kinds(&text).unwrap_err();
            assert!(refused.starts_with(place), "{text}: {refused}");
        }
        assert!(parse(b"apiVersion: v1\nkind: AuthorizationConfiguration").is_err());
    }
}
