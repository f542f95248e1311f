//! The configuration of plug-ins: `--admission-control-config-file`.
//!
//! A file is checked as a whole when the server starts: names, kinds and fields that are not known are errors.
//!
//! Kubernetes concept: `AdmissionConfiguration` of `apiserver.config.k8s.io`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use registry_core::codec::{DecodeError, Limits, yaml};
use registry_core::features::{Feature, Features};
use registry_core::rest::webhook::WebhookTarget;
use registry_core::schema::FieldIssue;
use serde::Deserialize;
use serde_json::Value;

use super::event_rate_limit::EventRateLimits;
use super::placement::{NodeSelectorSettings, TolerationSettings};
use super::pods::{ImagePolicySettings, PodSecuritySettings};
use super::resource_quota::{self, LimitedResource};
use super::settings_error::SettingsError;

/// Maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;
const VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];

/// The configuration of plug-ins.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfiguration {
    pub(super) pod_security: PodSecuritySettings,
    pub(super) limited_resources: Vec<LimitedResource>,
    pub(super) event_rate_limits: Option<EventRateLimits>,
    pub(super) tolerations: TolerationSettings,
    pub(super) node_selector: NodeSelectorSettings,
    pub(super) image_policy: Option<ImagePolicySettings>,
    /// The kubeconfig with the credentials for mutating webhooks, if any.
    pub mutating_webhook_kubeconfig: Option<PathBuf>,
    /// The kubeconfig with the credentials for validating webhooks, if any.
    pub validating_webhook_kubeconfig: Option<PathBuf>,
    /// The directories with manifests, by the names of the plug-ins that enforce them.
    pub static_manifests: HashMap<&'static str, PathBuf>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an AdmissionConfiguration")]
struct Written {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    #[serde(default)]
    plugins: Vec<WrittenPlugin>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a plug-in with its configuration")]
struct WrittenPlugin {
    name: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    configuration: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenWebhooks {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    kube_config_file: String,
    #[serde(default)]
    static_manifests_dir: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenPolicies {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    static_manifests_dir: String,
}

/// Where a configuration is read.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The directory that relative paths begin at.
    directory: &'p Path,
    /// The features of the server.
    features: Features,
}

/// Error of the file of `--admission-control-config-file`. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// A file cannot be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<Self>,
    },
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It has more bytes than are read.
    #[error("has {0} bytes, and at most {most} are read", most = MAX_BYTES)]
    TooLarge(u64),
    /// It is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] DecodeError),
    /// A field stands twice.
    #[error("{0}")]
    Duplicate(FieldIssue),
    /// A field is unknown, or has the wrong type.
    #[error(transparent)]
    Fields(#[from] serde_json::Error),
    /// It is a text, a list or a number. The error does not show it: it may be a file with secrets that was named by mistake.
    #[error("the file has to be an AdmissionConfiguration of {}, and is not an object", VERSIONS[0])]
    NoObject,
    /// It is something else.
    #[error(
        "the file has to be an AdmissionConfiguration of {}, and is a {kind:?} of {api_version:?}",
        VERSIONS[0]
    )]
    OtherKind {
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        api_version: String,
    },
    /// A plug-in cannot be configured.
    #[error("plugins[{index}] ({name}): {source}")]
    Plugin {
        /// The position in the file.
        index: usize,
        /// The name of the plug-in.
        name: String,
        /// The reason.
        source: Box<Self>,
    },
    /// The plug-in stands in the file before.
    #[error("the plug-in is configured twice")]
    Twice,
    /// It is not clear which one counts.
    #[error("has a path and a configuration")]
    PathAndConfiguration,
    /// The configuration is that of something else.
    #[error("the configuration has to be a {}, and is a {kind:?} of {version:?}", .known.join(" or a "))]
    PluginKind {
        /// The kinds that can be.
        known: Vec<String>,
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        version: String,
    },
    /// No plug-in has this name, or it has no configuration.
    #[error("{0:?} is not a plug-in that has a configuration")]
    UnknownPlugin(String),
    /// A field has a value that it cannot have.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

// === impl ConfigurationError ===

impl ConfigurationError {
    fn in_file(self, path: &Path) -> Self {
        Self::File { path: path.to_owned(), source: Box::new(self) }
    }
}

// === impl AdmissionConfiguration ===

impl AdmissionConfiguration {
    /// Reads a file, and the files that it refers to, on a server with these features. Of directories with manifests only the
    /// path is checked.
    ///
    /// # Errors
    /// A file cannot be read, or is not valid; the text names the file, the plug-in and the field.
    pub fn read(path: &Path, features: Features) -> Result<Self, ConfigurationError> {
        let value = read_file(path)?;
        let place = Place { directory: path.parent().unwrap_or(Path::new("")), features };
        Self::from_value(value, place).map_err(|error| error.in_file(path))
    }

    /// Returns the names of plug-ins that cannot work without a configuration, and have none.
    pub fn unconfigured(&self) -> impl Iterator<Item = &'static str> {
        let missing = [
            ("EventRateLimit", self.event_rate_limits.is_none()),
            ("ImagePolicyWebhook", self.image_policy.is_none()),
        ];
        missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name)
    }

    /// Returns the service that decides about images, if there is one.
    pub fn image_policy_webhook(&self) -> Option<&WebhookTarget> {
        self.image_policy.as_ref().map(|settings| &settings.webhook.target)
    }

    fn from_value(value: Value, place: Place<'_>) -> Result<Self, ConfigurationError> {
        if !value.is_object() {
            return Err(ConfigurationError::NoObject);
        }
        let mut configuration = Self::default();
        // Formerly the file was the configuration of one plug-in.
        for (field, plugin) in
            [("imagePolicy", "ImagePolicyWebhook"), ("podNodeSelectorPluginConfig", "PodNodeSelector")]
        {
            if value.get("kind").is_none() && value.get(field).is_some() {
                configuration.set(plugin, value, place)?;
                return Ok(configuration);
            }
        }
        let written: Written = serde_json::from_value(value)?;
        if written.kind != "AdmissionConfiguration" || !VERSIONS.contains(&written.api_version.as_str()) {
            let Written { kind, api_version, .. } = written;
            return Err(ConfigurationError::OtherKind { kind, api_version });
        }
        let mut names = HashSet::new();
        for (index, plugin) in written.plugins.into_iter().enumerate() {
            let failed = |error: ConfigurationError| ConfigurationError::Plugin {
                index,
                name: plugin.name.clone(),
                source: Box::new(error),
            };
            if !names.insert(plugin.name.clone()) {
                return Err(failed(ConfigurationError::Twice));
            }
            let value = match (plugin.path.as_str(), plugin.configuration) {
                ("", None) => continue,
                ("", Some(value)) => value,
                (path, None) => read_file(&place.directory.join(path)).map_err(failed)?,
                (_, Some(_)) => return Err(failed(ConfigurationError::PathAndConfiguration)),
            };
            configuration.set(&plugin.name, value, place).map_err(failed)?;
        }
        Ok(configuration)
    }

    /// Sets the configuration of a plug-in.
    fn set(&mut self, plugin: &str, value: Value, place: Place<'_>) -> Result<(), ConfigurationError> {
        match plugin {
            "PodSecurity" => {
                check_kind(&value, &[("pod-security.admission.config.k8s.io/", "PodSecurityConfiguration")])?;
                self.pod_security = PodSecuritySettings::read(value)?;
            }
            "ResourceQuota" => {
                let kinds = [
                    ("resourcequota.admission.k8s.io/", "Configuration"),
                    ("apiserver.config.k8s.io/", "ResourceQuotaConfiguration"),
                ];
                check_kind(&value, &kinds)?;
                self.limited_resources = resource_quota::settings::read(value)?;
            }
            "EventRateLimit" => {
                check_kind(&value, &[("eventratelimit.admission.k8s.io/", "Configuration")])?;
                self.event_rate_limits = Some(EventRateLimits::read(value)?);
            }
            "PodTolerationRestriction" => {
                check_kind(&value, &[("podtolerationrestriction.admission.k8s.io/", "Configuration")])?;
                self.tolerations = TolerationSettings::read(value)?;
            }
            "PodNodeSelector" => self.node_selector = NodeSelectorSettings::read(&value)?,
            "ImagePolicyWebhook" => {
                self.image_policy = Some(ImagePolicySettings::read(&value, place.directory)?);
            }
            "MutatingAdmissionWebhook" => {
                self.mutating_webhook_kubeconfig =
                    self.set_webhooks("MutatingAdmissionWebhook", value, place)?;
            }
            "ValidatingAdmissionWebhook" => {
                self.validating_webhook_kubeconfig =
                    self.set_webhooks("ValidatingAdmissionWebhook", value, place)?;
            }
            "MutatingAdmissionPolicy" => self.set_policies("MutatingAdmissionPolicy", value, place)?,
            "ValidatingAdmissionPolicy" => self.set_policies("ValidatingAdmissionPolicy", value, place)?,
            other => return Err(ConfigurationError::UnknownPlugin(other.to_owned())),
        }
        Ok(())
    }

    /// Sets the configuration of a plug-in of webhooks. Returns the kubeconfig with their credentials.
    fn set_webhooks(
        &mut self,
        plugin: &'static str,
        value: Value,
        place: Place<'_>,
    ) -> Result<Option<PathBuf>, ConfigurationError> {
        let kinds = [
            ("apiserver.config.k8s.io/", "WebhookAdmissionConfiguration"),
            ("apiserver.config.k8s.io/", "WebhookAdmission"),
        ];
        check_kind(&value, &kinds)?;
        let written: WrittenWebhooks = serde_json::from_value(value)?;
        self.set_manifests(plugin, &written.static_manifests_dir, place.features)?;
        let file = Some(written.kube_config_file).filter(|file| !file.is_empty());
        Ok(file.map(|file| place.directory.join(file)))
    }

    /// Sets the configuration of a plug-in of policies.
    fn set_policies(
        &mut self,
        plugin: &'static str,
        value: Value,
        place: Place<'_>,
    ) -> Result<(), ConfigurationError> {
        check_kind(&value, &[("apiserver.config.k8s.io/", &format!("{plugin}Configuration"))])?;
        let written: WrittenPolicies = serde_json::from_value(value)?;
        self.set_manifests(plugin, &written.static_manifests_dir, place.features)
    }

    fn set_manifests(
        &mut self,
        plugin: &'static str,
        directory: &str,
        features: Features,
    ) -> Result<(), ConfigurationError> {
        if directory.is_empty() {
            return Ok(());
        }
        let path = Path::new(directory);
        let invalid =
            |reason: String| SettingsError::ManifestsDirectory { path: directory.to_owned(), reason };
        if !features.contains(Feature::ManifestBasedAdmissionControlConfig) {
            return Err(SettingsError::ManifestsDisabled.into());
        }
        if !path.is_absolute() {
            return Err(invalid("must be an absolute file path".to_owned()).into());
        }
        let is_directory = std::fs::metadata(path).map(|metadata| metadata.is_dir());
        if !is_directory.map_err(|error| invalid(format!("unable to read: {error}")))? {
            return Err(invalid("must be a directory".to_owned()).into());
        }
        self.static_manifests.insert(plugin, path.to_owned());
        Ok(())
    }
}

/// Checks that a configuration is of one of these kinds: the beginning of the version, and the name.
fn check_kind(value: &Value, kinds: &[(&str, &str)]) -> Result<(), ConfigurationError> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let is_version = |rest: &str| matches!(rest, "v1" | "v1beta1" | "v1alpha1");
    let is_one =
        |(prefix, name): &(&str, &str)| kind == *name && version.strip_prefix(prefix).is_some_and(is_version);
    if kinds.iter().any(is_one) {
        return Ok(());
    }
    let known = kinds.iter().map(|(prefix, name)| format!("{name} of {prefix}…")).collect();
    Err(ConfigurationError::PluginKind { known, kind: kind.to_owned(), version: version.to_owned() })
}

/// Reads a YAML or JSON file.
fn read_file(path: &Path) -> Result<Value, ConfigurationError> {
    let read = || {
        let size = std::fs::metadata(path)?.len();
        if size > MAX_BYTES {
            return Err(ConfigurationError::TooLarge(size));
        }
        let decoded = yaml::decode(&std::fs::read(path)?, &Limits::default())?;
        match decoded.duplicates.first() {
            Some(duplicate) => Err(ConfigurationError::Duplicate(duplicate.clone())),
            None => Ok(decoded.value),
        }
    };
    read().map_err(|error| error.in_file(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(plugins: Value) -> Result<AdmissionConfiguration, String> {
        let mut value = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"});
        value["plugins"] = plugins;
        AdmissionConfiguration::from_value(value, in_directory("/etc/kubernetes"))
            .map_err(|error| error.to_string())
    }

    fn in_directory(directory: &str) -> Place<'_> {
        Place { directory: Path::new(directory), features: Features::default() }
    }

    #[test]
    fn a_file_of_another_kind_is_not_shown() {
        let secret = json!("root:secret:0:0");
        let refused =
            AdmissionConfiguration::from_value(secret, in_directory("/etc/kubernetes")).unwrap_err();
        let expected = "the file has to be an AdmissionConfiguration of apiserver.config.k8s.io/v1, and is not an object";
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let event = |limits: Value| {
            let kind = "eventratelimit.admission.k8s.io/v1alpha1";
            json!({"name": "EventRateLimit", "configuration": {"apiVersion": kind, "kind": "Configuration", "limits": limits}})
        };
        let good = read(json!([event(json!([{"type": "Server", "qps": 5, "burst": 10}]))])).unwrap();
        assert_eq!(good.unconfigured().collect::<Vec<_>>(), ["ImagePolicyWebhook"]);
        for (plugins, part) in [
            (
                json!([event(json!([]))]),
                "plugins[0] (EventRateLimit): limits: Invalid value: must not be empty",
            ),
            (json!([{"name": "Zork", "configuration": {}}]), "plugins[0] (Zork): \"Zork\" is not a plug-in"),
            (
                json!([{"name": "PodSecurity", "configuration": {"kind": "Pod"}}]),
                "has to be a PodSecurityConfiguration",
            ),
            (
                json!([{"name": "PodSecurity", "path": "a", "configuration": {}}]),
                "has a path and a configuration",
            ),
            (json!([{"name": "PodSecurity", "path": "/nowhere"}]), "/nowhere: No such file"),
            (json!([{"name": "PodSecurity"}, {"name": "PodSecurity"}]), "configured twice"),
            (json!([{"name": "PodSecurity", "zork": 1}]), "unknown field `zork`"),
        ] {
            let refused = read(plugins).unwrap_err();
            assert!(refused.contains(part), "{part}: {refused}");
        }
        let other = json!({"apiVersion": "v1", "kind": "Pod"});
        let refused = AdmissionConfiguration::from_value(other, in_directory("")).unwrap_err().to_string();
        assert!(refused.contains("has to be an AdmissionConfiguration"), "{refused}");
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let webhooks = json!([{"name": "ValidatingAdmissionWebhook", "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": "webhooks.yaml",
        }}]);
        let found = read(webhooks).unwrap().validating_webhook_kubeconfig.unwrap();
        assert_eq!(found, Path::new("/etc/kubernetes/webhooks.yaml"));
        // The former form of the file.
        let legacy = json!({"podNodeSelectorPluginConfig": {"a": "b=c"}});
        assert!(AdmissionConfiguration::from_value(legacy, in_directory("")).is_ok());
    }

    #[test]
    fn directories_of_manifests_are_checked() {
        let present = env!("CARGO_MANIFEST_DIR");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let enabled = [Feature::ManifestBasedAdmissionControlConfig].into_iter().collect();
        let configure = |plugin: &str, kind: &str, path: &str, features: Features| {
            let settings = json!({
                "apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "staticManifestsDir": path,
            });
            let mut configuration = AdmissionConfiguration::default();
            let place = Place { directory: Path::new(""), features };
            configuration.set(plugin, settings, place).map_err(|error| error.to_string())?;
            Ok::<_, String>(configuration.static_manifests)
        };
        for (plugin, kind) in [
            ("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration"),
            ("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration"),
            ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration"),
            ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration"),
        ] {
            assert_eq!(configure(plugin, kind, present, enabled).unwrap()[plugin], Path::new(present));
            assert!(configure(plugin, kind, "", Features::default()).unwrap().is_empty());
            let disabled = "staticManifestsDir: Forbidden: staticManifestsDir requires the \
                            ManifestBasedAdmissionControlConfig feature gate to be enabled";
            assert_eq!(configure(plugin, kind, present, Features::default()).unwrap_err(), disabled);
            for (path, reason) in [
                ("manifests", "must be an absolute file path"),
                ("/nowhere", "unable to read: No such file"),
                (file, "must be a directory"),
            ] {
                let refused = configure(plugin, kind, path, enabled).unwrap_err();
                let expected = format!("staticManifestsDir: Invalid value: {path:?}: {reason}");
                assert!(refused.starts_with(&expected), "{refused}");
            }
            let other = configure(plugin, "PodSecurityConfiguration", present, enabled).unwrap_err();
            assert!(other.contains(kind), "{other}");
        }
    }
}
