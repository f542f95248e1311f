//! `--runtime-config`: the APIs that are served.
//!
//! Kubernetes concept: `ResourceConfig` in `k8s.io/apiserver/pkg/server/storage`.

use std::str::FromStr;

use registry_core::resource::ResourceDescription;

/// One `key=value` of `--runtime-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeSwitch {
    /// The API or APIs, as written.
    pub key: String,
    /// Whether they are enabled.
    pub enabled: bool,
    target: Target,
}

/// The APIs that are served: all but those that a switch disables. The most specific switch takes precedence.
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    switches: Vec<RuntimeSwitch>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// `api/all`.
    Everything,
    /// `api/ga`, `api/beta`, `api/alpha`.
    Stability(Stability),
    /// `group/version`.
    Version { group: String, version: String },
    /// `group/version/resource`.
    Resource { group: String, version: String, resource: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stability {
    Stable,
    Beta,
    Alpha,
}

// === impl RuntimeSwitch ===

impl FromStr for RuntimeSwitch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        let enabled = match value {
            "true" | "" => true,
            "false" => false,
            other => return Err(format!("\"{other}\" is neither true nor false")),
        };
        let parts: Vec<&str> = key.split('/').collect();
        let owned = |text: &str| text.to_owned();
        let target = match parts[..] {
            ["api", "all"] => Target::Everything,
            ["api", "ga"] => Target::Stability(Stability::Stable),
            ["api", "beta"] => Target::Stability(Stability::Beta),
            ["api", "alpha"] => Target::Stability(Stability::Alpha),
            [version] | ["api", version] if is_version(version) => {
                Target::Version { group: String::new(), version: owned(version) }
            }
            [version, resource] | ["api", version, resource] if is_version(version) => {
                Target::Resource { group: String::new(), version: owned(version), resource: owned(resource) }
            }
            [group, version] if is_version(version) => {
                Target::Version { group: owned(group), version: owned(version) }
            }
            [group, version, resource] if is_version(version) => {
                Target::Resource { group: owned(group), version: owned(version), resource: owned(resource) }
            }
            _ => {
                return Err(format!(
                    "\"{key}\" is no API: write group/version[/resource], v1, api/all, api/ga, api/beta or api/alpha"
                ));
            }
        };
        Ok(Self { key: owned(key), enabled, target })
    }
}

// === impl RuntimeConfig ===

impl RuntimeConfig {
    /// Returns the configuration of these switches, in any order.
    pub fn new(switches: &[RuntimeSwitch]) -> Self {
        let mut switches = switches.to_vec();
        // Sorted from general to specific; among equal ones the last takes precedence.
        switches.sort_by_key(|switch| switch.target.breadth());
        Self { switches }
    }

    /// Returns whether a resource is served. (ResourceEnabled.)
    pub fn is_enabled(&self, resource: &ResourceDescription) -> bool {
        let matching = self.switches.iter().rev().find(|switch| switch.target.covers(resource));
        matching.is_none_or(|switch| switch.enabled)
    }

    /// Returns the switches whose version or resource is not among these: typing errors.
    pub fn unknown_keys<'a>(&'a self, resources: &[&'static ResourceDescription]) -> Vec<&'a str> {
        let unknown = self.switches.iter().filter(|switch| {
            matches!(switch.target, Target::Version { .. } | Target::Resource { .. })
                && !resources.iter().any(|resource| switch.target.covers(resource))
        });
        unknown.map(|switch| switch.key.as_str()).collect()
    }
}

// === impl Target ===

impl Target {
    /// Returns the specificity; 0 is the most general.
    fn breadth(&self) -> u8 {
        match self {
            Self::Everything => 0,
            Self::Stability(_) => 1,
            Self::Version { .. } => 2,
            Self::Resource { .. } => 3,
        }
    }

    fn covers(&self, candidate: &ResourceDescription) -> bool {
        let kind = candidate.kind;
        match self {
            Self::Everything => true,
            Self::Stability(stability) => *stability == Stability::of(kind.version),
            Self::Version { group, version } => kind.group == group && kind.version == version,
            Self::Resource { group, version, resource } => {
                kind.group == group && kind.version == version && candidate.plural == resource
            }
        }
    }
}

impl Stability {
    fn of(version: &str) -> Self {
        if version.contains("alpha") {
            Self::Alpha
        } else if version.contains("beta") {
            Self::Beta
        } else {
            Self::Stable
        }
    }
}

/// Returns whether a text is a version such as `v1` or `v2beta1`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
