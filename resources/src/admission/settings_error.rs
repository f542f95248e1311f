//! Settings of plug-ins that cannot be used.

use std::time::Duration;

use registry_core::api::validation::ErrorList;

use super::placement::{InvalidSelector, InvalidToleration};

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
}
