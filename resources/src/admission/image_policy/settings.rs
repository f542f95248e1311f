//! The configuration of the plug-in, and the kubeconfig with the address of the service.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::rest::webhook::{WebhookClientConfig, WebhookTarget};
use serde::Deserialize;
use serde_json::Value;

use super::super::configuration::read_file;

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
    pub(super) webhook: WebhookClientConfig,
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
    /// Reads the configuration `imagePolicy`, and the kubeconfig that it names, relative to a directory.
    ///
    /// # Errors
    /// One of them is not valid; the text names the field.
    pub(crate) fn read(configuration: &Value, directory: &Path) -> Result<Self, String> {
        let own = configuration.get("imagePolicy").cloned().ok_or("imagePolicy: Required value")?;
        let written: Written =
            serde_json::from_value(own).map_err(|error| format!("imagePolicy: {error}"))?;
        if written.kubeconfig.is_empty() {
            return Err("imagePolicy.kubeConfigFile: Required value".to_owned());
        }
        let deny = Bounds { default: Duration::from_secs(30), ..TTL };
        let backoff = Bounds {
            unit: Duration::from_millis(1),
            least: Duration::from_nanos(1),
            most: Duration::from_mins(5),
            default: Duration::from_millis(500),
        };
        let path = directory.join(&written.kubeconfig);
        let webhook = webhook_of(&read_file(&path)?, path.parent().unwrap_or(directory))
            .map_err(|why| format!("{}: {why}", path.display()))?;
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
fn duration(field: &str, value: i64, bounds: &Bounds) -> Result<Duration, String> {
    match value {
        0 => return Ok(bounds.default),
        -1 => return Ok(Duration::ZERO),
        _ => {}
    }
    let count = u32::try_from(value).ok();
    let duration = count.and_then(|count| bounds.unit.checked_mul(count));
    duration.filter(|duration| (bounds.least..=bounds.most).contains(duration)).ok_or_else(|| {
        format!(
            "imagePolicy.{field}: valid value is between {:?} and {:?}, got {value} times {:?}",
            bounds.least, bounds.most, bounds.unit
        )
    })
}

/// Reads the address and the authority of the service in the current context of a kubeconfig.
fn webhook_of(kubeconfig: &Value, directory: &Path) -> Result<WebhookClientConfig, String> {
    let text =
        |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let named = |list: &str, name: &str, field: &str| {
        let entries = kubeconfig.get(list).and_then(Value::as_array).into_iter().flatten();
        let mut entries = entries.filter(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
        entries.next().and_then(|entry| entry.get(field)).cloned().unwrap_or_default()
    };
    let context = named("contexts", &text(kubeconfig, "current-context"), "context");
    let cluster = named("clusters", &text(&context, "cluster"), "cluster");
    let server = text(&cluster, "server");
    if server.is_empty() {
        return Err("the current context names no cluster with a server".to_owned());
    }
    let user = named("users", &text(&context, "user"), "user");
    if user.as_object().is_some_and(|credentials| !credentials.is_empty()) {
        return Err(
            "the current context names a user with credentials, and this server presents none to webhooks"
                .to_owned(),
        );
    }
    for field in ["insecure-skip-tls-verify", "tls-server-name", "proxy-url"] {
        if cluster.get(field).is_some_and(|value| !value.is_null() && value != false) {
            return Err(format!("{field} is not supported"));
        }
    }
    let data = text(&cluster, "certificate-authority-data");
    let file = text(&cluster, "certificate-authority");
    let ca_bundle = if !data.is_empty() {
        STANDARD.decode(data).map_err(|error| format!("certificate-authority-data: {error}"))?
    } else if !file.is_empty() {
        let path = directory.join(file);
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?
    } else {
        Vec::new()
    };
    Ok(WebhookClientConfig { target: WebhookTarget::Url(server), ca_bundle })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kubeconfig_gives_the_address() {
        let kubeconfig = |user: Value| {
            json!({
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {
                    "server": "https://images.example.com/check", "certificate-authority-data": "eA==",
                }}],
                "users": [{"name": "u", "user": user}],
            })
        };
        let found = webhook_of(&kubeconfig(json!({})), Path::new("")).unwrap();
        assert_eq!(found.target, WebhookTarget::Url("https://images.example.com/check".to_owned()));
        assert_eq!(found.ca_bundle, b"x");
        let refused = webhook_of(&kubeconfig(json!({"token": "t"})), Path::new("")).unwrap_err();
        assert!(refused.contains("credentials"), "{refused}");
        assert!(webhook_of(&json!({}), Path::new("")).is_err());
    }

    #[test]
    fn durations_are_bounded() {
        assert_eq!(duration("allowTTL", 0, &TTL), Ok(Duration::from_mins(5)));
        assert_eq!(duration("allowTTL", -1, &TTL), Ok(Duration::ZERO));
        assert_eq!(duration("allowTTL", 7, &TTL), Ok(Duration::from_secs(7)));
        assert!(
            duration("allowTTL", 100_000, &TTL).unwrap_err().contains("imagePolicy.allowTTL: valid value")
        );
        assert!(duration("allowTTL", i64::MIN, &TTL).is_err());
    }
}
