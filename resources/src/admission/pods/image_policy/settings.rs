//! The configuration of the plug-in.

use std::path::Path;
use std::time::Duration;

use registry_core::rest::webhook::{WebhookClientConfig, WebhookTarget};
use serde::Deserialize;
use serde_json::Value;

use crate::admission::settings_error::SettingsError;

/// The bounds of a duration, its unit, and its default.
struct Bounds {
    unit: Duration,
    least: Duration,
    most: Duration,
    default: Duration,
}

const TTL: Bounds = Bounds {
    unit: Duration::from_secs(1),
    least: Duration::from_secs(1),
    most: Duration::from_mins(30),
    default: Duration::from_mins(5),
};

/// The service, and how its verdicts are used.
#[derive(Clone, Debug)]
pub(crate) struct ImagePolicySettings {
    pub(crate) webhook: WebhookClientConfig,
    pub(super) allow_ttl: Duration,
    pub(super) deny_ttl: Duration,
    pub(super) retry_backoff: Duration,
    /// Whether pods are admitted while the service cannot be reached.
    pub(super) default_allow: bool,
}

/// The configuration as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(default, rename = "kubeConfigFile")]
    kubeconfig: String,
    #[serde(default, rename = "allowTTL")]
    allow_ttl: i64,
    #[serde(default, rename = "denyTTL")]
    deny_ttl: i64,
    #[serde(default)]
    retry_backoff: i64,
    #[serde(default)]
    default_allow: bool,
}

// === impl ImagePolicySettings ===

impl ImagePolicySettings {
    /// Reads the configuration `imagePolicy`. The kubeconfig that it names is relative to a directory.
    ///
    /// # Errors
    /// It is not valid; the text names the field.
    pub(crate) fn read(configuration: &Value, directory: &Path) -> Result<Self, SettingsError> {
        let own = configuration.get("imagePolicy").cloned().ok_or(SettingsError::Required("imagePolicy"))?;
        let written: Written = serde_json::from_value(own).map_err(SettingsError::ImagePolicy)?;
        if written.kubeconfig.is_empty() {
            return Err(SettingsError::Required("imagePolicy.kubeConfigFile"));
        }
        let deny = Bounds { default: Duration::from_secs(30), ..TTL };
        let backoff = Bounds {
            unit: Duration::from_millis(1),
            least: Duration::from_nanos(1),
            most: Duration::from_mins(5),
            default: Duration::from_millis(500),
        };
        let target = WebhookTarget::Kubeconfig(directory.join(&written.kubeconfig));
        let webhook = WebhookClientConfig { target, ca_bundle: Vec::new() };
        Ok(Self {
            webhook,
            allow_ttl: duration("allowTTL", written.allow_ttl, &TTL)?,
            deny_ttl: duration("denyTTL", written.deny_ttl, &deny)?,
            retry_backoff: duration("retryBackoff", written.retry_backoff, &backoff)?,
            default_allow: written.default_allow,
        })
    }
}

/// Returns a duration: 0 means the default, -1 none.
fn duration(field: &'static str, value: i64, bounds: &Bounds) -> Result<Duration, SettingsError> {
    match value {
        0 => return Ok(bounds.default),
        -1 => return Ok(Duration::ZERO),
        _ => {}
    }
    let count = u32::try_from(value).ok();
    let duration = count.and_then(|count| bounds.unit.checked_mul(count));
    let Bounds { least, most, unit, .. } = *bounds;
    duration.filter(|duration| (least..=most).contains(duration)).ok_or(SettingsError::Duration {
        field,
        least,
        most,
        value,
        unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_bounded() {
        assert_eq!(duration("allowTTL", 0, &TTL).unwrap(), Duration::from_mins(5));
        assert_eq!(duration("allowTTL", -1, &TTL).unwrap(), Duration::ZERO);
        assert_eq!(duration("allowTTL", 7, &TTL).unwrap(), Duration::from_secs(7));
        let refused = duration("allowTTL", 100_000, &TTL).unwrap_err().to_string();
        assert!(refused.contains("imagePolicy.allowTTL: valid value"), "{refused}");
        assert!(duration("allowTTL", i64::MIN, &TTL).is_err());
    }
}
