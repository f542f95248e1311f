//! Settings of plug-ins that cannot be used.

use std::time::Duration;

use registry_core::api::validation::ErrorList;

/// Error of the settings of a plug-in. Not retryable. The texts are Kubernetes', where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Fields(#[from] serde_json::Error),
    #[error("{0}: Required value")]
    Required(&'static str),

    #[error("limits: Invalid value: must not be empty")]
    NoLimits,
    #[error("limits[{index}].{field}: Invalid value: {value}: {rule}")]
    Limit { index: usize, field: &'static str, value: i32, rule: &'static str },

    #[error("{0}: the selector has to be a text")]
    NoSelector(String),
    #[error("{namespace}: {source}")]
    Selector { namespace: String, source: InvalidSelector },

    #[error("imagePolicy: {0}")]
    ImagePolicy(#[source] serde_json::Error),
    #[error("imagePolicy.{field}: valid value is between {least:?} and {most:?}, got {value} times {unit:?}")]
    Duration { field: &'static str, least: Duration, most: Duration, value: i64, unit: Duration },

    #[error("{field}[{index}]: {source}")]
    Toleration { field: &'static str, index: usize, source: InvalidToleration },

    #[error("limitedResources[{0}].resource: Required value")]
    NoQuotaResource(usize),
    #[error("limitedResources[{index}].matchScopes[{position}]: scopeName and operator are required")]
    QuotaScope { index: usize, position: usize },

    #[error("{0}")]
    PodSecurity(ErrorList),

    #[error(
        "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be \
         enabled"
    )]
    ManifestsDisabled,
    #[error("staticManifestsDir: Invalid value: {path:?}: {reason}")]
    ManifestsDirectory { path: String, reason: String },
}

/// Error of a text that is not a selector of labels, which it shows. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("invalid selector: {0}")]
pub struct InvalidSelector(pub(super) String);

/// Error of a toleration that cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum InvalidToleration {
    #[error("a toleration has to be an object")]
    NoObject,
    #[error("unknown field {0:?}")]
    UnknownField(String),
    #[error("{0}: the value has another type")]
    Type(String),
    #[error("operator: Unsupported value: {0:?}")]
    Operator(String),
    #[error("effect: Unsupported value: {0:?}")]
    Effect(String),
    #[error("operator must be Exists when `key` is empty")]
    NoKey,
}
