//! The encryption configuration, as written in its file.
//!
//! Kubernetes concept:
//! [EncryptionConfiguration](https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/).

use std::time::Duration;

use registry_core::codec::configuration::{DecodingError, decode};
use serde::Deserialize;

use crate::options::parse_duration;

/// The default time of a call of a key management service.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3);
/// The default version of a key management service's API.
const DEFAULT_KMS_VERSION: &str = "v1";

/// Providers by resource.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EncryptionConfiguration {
    pub(super) resources: Vec<ResourceConfiguration>,
}

/// The providers of some resources: the first writes, all of them read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResourceConfiguration {
    /// `resource`, `resource.group`, `*.group`, `*.` (the core group) or `*.*`.
    pub(super) resources: Vec<String>,
    pub(super) providers: Vec<ProviderConfiguration>,
}

/// One of the providers.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProviderConfiguration {
    pub(super) aesgcm: Option<KeysConfiguration>,
    pub(super) aescbc: Option<KeysConfiguration>,
    pub(super) secretbox: Option<KeysConfiguration>,
    pub(super) identity: Option<IdentityConfiguration>,
    pub(super) kms: Option<KmsConfiguration>,
}

/// Plain form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdentityConfiguration {}

/// Keys in the file: the first encrypts, all of them decrypt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct KeysConfiguration {
    pub(super) keys: Vec<Key>,
}

/// A key.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Key {
    pub(super) name: String,
    /// In base64.
    pub(super) secret: String,
}

/// A key management service.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct KmsConfiguration {
    pub(super) api_version: String,
    pub(super) name: String,
    #[serde(rename = "cachesize")]
    pub(super) cache_size: Option<i32>,
    pub(super) endpoint: String,
    #[serde(deserialize_with = "duration")]
    pub(super) timeout: Duration,
}

// === impl KmsConfiguration ===

impl Default for KmsConfiguration {
    fn default() -> Self {
        Self {
            api_version: DEFAULT_KMS_VERSION.to_owned(),
            name: String::new(),
            cache_size: None,
            endpoint: String::new(),
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

// === impl Key ===

impl std::fmt::Debug for Key {
    /// Never shows the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({:?})", self.name)
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    // Negative durations are as invalid as that of 0, which validation refuses.
    match text.strip_prefix('-') {
        Some(_) => Ok(Duration::ZERO),
        None => parse_duration(&text).map_err(serde::de::Error::custom),
    }
}

/// Parses a configuration. Unknown and duplicate fields are errors: a setting that has no effect would leave values
/// unprotected.
pub(super) fn parse(content: &[u8]) -> Result<EncryptionConfiguration, DecodingError> {
    decode(content, "EncryptionConfiguration", &["apiserver.config.k8s.io/v1"])
}

/// Returns the group and the resource in `resource.group`; `*.` is all resources of the core group.
pub(super) fn parse_resource(text: &str) -> (&str, &str) {
    text.split_once('.').map_or(("", text), |(resource, group)| (group, resource))
}
