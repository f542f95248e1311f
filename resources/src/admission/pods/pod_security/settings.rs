//! The configuration of the plug-in.
//!
//! Kubernetes concept: `PodSecurityConfiguration`.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};
use serde::Deserialize;
use serde_json::Value;

use crate::admission::settings_error::SettingsError;

use super::policy::{LEVEL_RULE, Level, LevelVersion, Policy, VERSION_RULE, Version, label};

/// The levels of namespaces without labels, and what is not checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodSecuritySettings {
    pub(super) defaults: Policy,
    usernames: HashSet<String>,
    namespaces: HashSet<String>,
    runtime_classes: HashSet<String>,
}

/// The configuration as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    defaults: WrittenDefaults,
    #[serde(default)]
    exemptions: WrittenExemptions,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
struct WrittenDefaults {
    enforce: String,
    enforce_version: String,
    audit: String,
    audit_version: String,
    warn: String,
    warn_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct WrittenExemptions {
    usernames: Vec<String>,
    namespaces: Vec<String>,
    runtime_classes: Vec<String>,
}

// === impl PodSecuritySettings ===

impl PodSecuritySettings {
    /// Reads a `PodSecurityConfiguration`.
    ///
    /// # Errors
    /// The configuration is not valid; the text names the fields.
    pub(crate) fn read(configuration: Value) -> Result<Self, SettingsError> {
        let written: Written = serde_json::from_value(configuration)?;
        let mut errors = ErrorList::default();
        let WrittenDefaults { enforce, enforce_version, audit, audit_version, warn, warn_version } =
            &written.defaults;
        let defaults = Policy {
            enforce: level_version("enforce", enforce, enforce_version, &mut errors),
            audit: level_version("audit", audit, audit_version, &mut errors),
            warn: level_version("warn", warn, warn_version, &mut errors),
        };
        let WrittenExemptions { usernames, namespaces, runtime_classes } = written.exemptions;
        let not_empty = |name: &str| {
            if name.is_empty() { vec!["username must not be empty".to_owned()] } else { Vec::new() }
        };
        let settings = Self {
            defaults,
            namespaces: set("namespaces", namespaces, names::dns_label, &mut errors),
            runtime_classes: set("runtimeClasses", runtime_classes, names::dns_subdomain, &mut errors),
            usernames: set("usernames", usernames, not_empty, &mut errors),
        };
        if errors.is_empty() { Ok(settings) } else { Err(SettingsError::PodSecurity(errors)) }
    }

    /// Whether the pods of a namespace are not checked.
    pub(super) fn exempts_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }

    /// Whether the pods that a user creates are not checked.
    pub(super) fn exempts_user(&self, name: &str) -> bool {
        self.usernames.contains(name)
    }

    /// Whether pods of a runtime class are not checked.
    pub(super) fn exempts_class(&self, name: Option<&str>) -> bool {
        name.is_some_and(|name| self.runtime_classes.contains(name))
    }

    /// Returns the warning that the labels of an exempt namespace have no effect, if they would have one.
    pub(super) fn exemption_warning(&self, namespace: &Object, policy: Policy) -> Option<String> {
        if policy.is_privileged() || policy.is_equivalent(self.defaults) {
            return None;
        }
        let modes = [("enforce", policy.enforce), ("audit", policy.audit), ("warn", policy.warn)];
        let is_labelled = |mode: &str| {
            label(namespace, mode).is_some() || label(namespace, &format!("{mode}-version")).is_some()
        };
        let ignored: Vec<String> = modes
            .into_iter()
            .filter(|(mode, required)| required.level != Level::Privileged && is_labelled(mode))
            .map(|(mode, required)| format!("{mode}={required}"))
            .collect();
        Some(format!(
            "namespace {:?} is exempt from Pod Security, and the policy ({}) will be ignored",
            namespace.name(),
            ignored.join(", ")
        ))
    }
}

fn level_version(mode: &str, level: &str, version: &str, errors: &mut ErrorList) -> LevelVersion {
    let path = |name: String| FieldPath::new("defaults").child(&name);
    let level = match level {
        "" => Some(Level::Privileged),
        text => Level::parse(text).or_else(|| {
            errors.push(FieldError::invalid(path(mode.to_owned()), text, LEVEL_RULE));
            None
        }),
    };
    let version = match version {
        "" => Some(Version::Latest),
        text => Version::parse(text).or_else(|| {
            errors.push(FieldError::invalid(path(format!("{mode}-version")), text, VERSION_RULE));
            None
        }),
    };
    LevelVersion { level: level.unwrap_or_default(), version: version.unwrap_or_default() }
}

fn set(
    field: &str,
    values: Vec<String>,
    rule: impl Fn(&str) -> Vec<String>,
    errors: &mut ErrorList,
) -> HashSet<String> {
    let mut set = HashSet::new();
    for (index, value) in values.into_iter().enumerate() {
        let path = FieldPath::new("exemptions").child(field).index(index);
        let complaints = rule(&value);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(path, value, complaints.join(", ")));
        } else if set.contains(&value) {
            errors.push(FieldError::duplicate(path, value));
        } else {
            set.insert(value);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_is_checked_as_a_whole() {
        let typed = |mut fields: Value| {
            fields["apiVersion"] = "pod-security.admission.config.k8s.io/v1".into();
            fields["kind"] = "PodSecurityConfiguration".into();
            PodSecuritySettings::read(fields)
        };
        let settings = typed(json!({
            "defaults": {"enforce": "baseline", "enforce-version": "v1.30"},
            "exemptions": {"usernames": ["system:serviceaccount:a:b"], "runtimeClasses": ["kata"]},
        }))
        .unwrap();
        assert_eq!(settings.defaults.enforce.to_string(), "baseline:v1.30");
        assert_eq!(settings.defaults.warn.to_string(), "privileged:latest");
        assert!(settings.exempts_class(Some("kata")) && !settings.exempts_class(None));
        assert!(settings.exempts_user("system:serviceaccount:a:b") && !settings.exempts_namespace("a"));
        let refused = typed(json!({
            "defaults": {"audit": "zork", "warn-version": "v2"},
            "exemptions": {"namespaces": ["a", "a", "B"], "usernames": [""]},
        }))
        .unwrap_err()
        .to_string();
        for field in [
            "defaults.audit",
            "defaults.warn-version",
            "exemptions.namespaces[1]",
            "exemptions.namespaces[2]",
            "exemptions.usernames[0]",
        ] {
            assert!(refused.contains(field), "{field}: {refused}");
        }
        assert!(typed(json!({"exemption": {}})).unwrap_err().to_string().contains("unknown field"));
    }

    #[test]
    fn labels_of_an_exempt_namespace_are_told_to_have_no_effect() {
        let settings = PodSecuritySettings::default();
        let labels = json!({"pod-security.kubernetes.io/enforce": "baseline"});
        let namespace = Object::from_value(json!({"metadata": {"name": "n", "labels": labels}})).unwrap();
        let (policy, _) = Policy::from_namespace(&namespace, settings.defaults);
        assert_eq!(
            settings.exemption_warning(&namespace, policy).unwrap(),
            "namespace \"n\" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored"
        );
        assert_eq!(settings.exemption_warning(&namespace, Policy::default()), None);
    }
}
