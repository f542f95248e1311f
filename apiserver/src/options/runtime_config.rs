//! `--runtime-config`: the APIs that are served.
//!
//! Kubernetes concept: `ResourceConfig` in `k8s.io/apiserver/pkg/server/storage`.

use std::str::FromStr;

use registry_core::release::Release;
use registry_core::resource::ResourceDescription;

use super::arguments::truth;
use super::{OptionsError, ValueError};
use crate::version::EffectiveReleases;

/// One `key=value` of `--runtime-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeSwitch {
    /// The API or APIs, as written.
    pub key: String,
    /// Whether they are enabled.
    pub enabled: bool,
    target: Target,
}

/// The APIs that are served: those that are on by default, as the switches change them. The most specific switch takes
/// precedence.
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

/// Versions that Kubernetes knows (clients may send objects in them) but does not serve: enabling them has no effect.
const WITHOUT_KINDS: &[(&str, &str)] = &[
    ("admission.k8s.io", "v1"),
    ("admission.k8s.io", "v1beta1"),
    ("apps", "v1beta1"),
    ("apps", "v1beta2"),
    ("authentication.k8s.io", "v1alpha1"),
    ("authentication.k8s.io", "v1beta1"),
    ("authorization.k8s.io", "v1beta1"),
    ("batch", "v1beta1"),
    ("discovery.k8s.io", "v1beta1"),
    ("events.k8s.io", "v1beta1"),
    ("extensions", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1beta2"),
    ("flowcontrol.apiserver.k8s.io", "v1beta3"),
    ("imagepolicy.k8s.io", "v1alpha1"),
    ("node.k8s.io", "v1alpha1"),
    ("node.k8s.io", "v1beta1"),
    ("policy", "v1beta1"),
    ("rbac.authorization.k8s.io", "v1alpha1"),
    ("rbac.authorization.k8s.io", "v1beta1"),
    ("scheduling.k8s.io", "v1beta1"),
    ("storage.k8s.io", "v1alpha1"),
];

/// Error of `--runtime-config`. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeConfigError {
    /// Everything is disabled.
    #[error("invalid runtime-config with only {0}=false")]
    Nothing(String),
    /// The server does not have these groups.
    #[error("unknown api groups {0}")]
    Groups(String),
    /// The server does not have this version of a group that it has.
    #[error("group version {0} that has not been registered")]
    Version(String),
    /// A resource is newer than the emulated release.
    #[error(
        "cannot enable resource {resource} in runtime-config because it is introduced at {introduced} after the current \
         version {release}. Consider setting --runtime-config-emulation-forward-compatible=true"
    )]
    NewerResource {
        /// Its version and name.
        resource: String,
        /// The release that introduced it.
        introduced: Release,
        /// The emulated release.
        release: Release,
    },
    /// All resources of a version are newer than the emulated release.
    #[error(
        "cannot enable version {version} in runtime-config because all the resources have been introduced after the \
         current version {release}. Consider setting --runtime-config-emulation-forward-compatible=true"
    )]
    NewerVersion {
        /// The group and version.
        version: String,
        /// The emulated release.
        release: Release,
    },
}

// === impl RuntimeSwitch ===

impl FromStr for RuntimeSwitch {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        let (key, value) = (key.trim(), value.trim());
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
            _ => return Err(ValueError::NoApi(owned(key))),
        };
        if let Target::Resource { resource, .. } = &target
            && resource.chars().any(char::is_uppercase)
        {
            return Err(ValueError::Uppercase { key: owned(key), resource: resource.clone() });
        }
        let enabled = target.switched(key, value)?;
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
        self.value(resource, |_| true).unwrap_or(resource.enabled_by_default)
    }

    /// Returns the value of the most specific switch that covers the resource, of those whose targets are chosen.
    fn value(&self, resource: &ResourceDescription, is_chosen: impl Fn(&Target) -> bool) -> Option<bool> {
        let mut targets = self.switches.iter().rev().filter(|switch| is_chosen(&switch.target));
        targets.find(|switch| switch.target.covers(resource)).map(|switch| switch.enabled)
    }

    /// Returns the value of the switch that names the resource or its version; `None` if none does.
    pub(super) fn explicit(&self, resource: &ResourceDescription) -> Option<bool> {
        self.value(resource, |target| target.version().is_some())
    }

    /// Returns whether a switch names the resource and enables it.
    pub(super) fn names_resource(&self, resource: &ResourceDescription) -> bool {
        self.value(resource, |target| matches!(target, Target::Resource { .. })) == Some(true)
    }

    /// Returns whether a switch names the version of the resource and enables it.
    pub(super) fn names_version(&self, resource: &ResourceDescription) -> bool {
        self.value(resource, |target| matches!(target, Target::Version { .. })) == Some(true)
    }

    /// Checks that the kinds that configure priority and fairness are served if it is enabled.
    ///
    /// # Errors
    /// Fails if a switch disables them.
    pub(super) fn check_fairness(&self, is_enabled: bool) -> Result<(), OptionsError> {
        let version = ("flowcontrol.apiserver.k8s.io", "v1");
        let covers = |target: &Target| match target {
            Target::Everything | Target::Stability(Stability::Stable) => true,
            Target::Version { .. } => target.version() == Some(version),
            Target::Stability(_) | Target::Resource { .. } => false,
        };
        match self.switches.iter().rev().find(|switch| covers(&switch.target)) {
            Some(switch) if is_enabled && !switch.enabled => Err(OptionsError::Fairness(switch.key.clone())),
            _ => Ok(()),
        }
    }

    /// Logs a warning for resources that the server does not have, and for alpha versions beside an emulated release.
    pub fn warn(&self, resources: &[&'static ResourceDescription], releases: EffectiveReleases) {
        for switch in &self.switches {
            let is_early = switch.target.version().is_some_and(|(_, version)| is_alpha(version));
            if is_early && switch.enabled && releases.is_emulating() {
                tracing::warn!(
                    "--runtime-config: {} is an alpha version, which is not supported with the emulated version {}",
                    switch.key,
                    releases.emulation
                );
            }
            let is_resource = matches!(switch.target, Target::Resource { .. });
            if is_resource && !resources.iter().any(|resource| switch.target.covers(resource)) {
                tracing::warn!("--runtime-config: {} is not served and has no effect", switch.key);
            }
        }
    }

    /// Checks that the switches name versions that the server has, or that Kubernetes still knows without serving anything
    /// in them.
    ///
    /// # Errors
    /// Fails as kube-apiserver does for unknown groups and versions, and if everything is disabled.
    pub fn check(&self, resources: &[&'static ResourceDescription]) -> Result<(), RuntimeConfigError> {
        if let [RuntimeSwitch { enabled: false, target: Target::Everything, key }] = self.switches.as_slice()
        {
            return Err(RuntimeConfigError::Nothing(key.clone()));
        }
        let versions = || {
            let served = resources.iter().map(|resource| (resource.kind.group, resource.kind.version));
            served.chain(WITHOUT_KINDS.iter().copied())
        };
        let named = || self.switches.iter().filter_map(|switch| Some((switch, switch.target.version()?)));
        let mut groups: Vec<String> = named()
            .filter(|(_, (group, _))| !versions().any(|(known, _)| known == *group))
            .map(|(_, (group, version))| format!("{group}/{version}"))
            .collect();
        groups.sort_unstable();
        groups.dedup();
        if !groups.is_empty() {
            return Err(RuntimeConfigError::Groups(groups.join(",")));
        }
        if let Some((_, (group, version))) =
            named().find(|(_, wanted)| !versions().any(|known| known == *wanted))
        {
            return Err(RuntimeConfigError::Version(format!("{group}/{version}")));
        }
        Ok(())
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

    /// Returns the group and version that it names.
    fn version(&self) -> Option<(&str, &str)> {
        match self {
            Self::Everything | Self::Stability(_) => None,
            Self::Version { group, version } | Self::Resource { group, version, .. } => {
                Some((group, version))
            }
        }
    }

    /// Returns whether a value enables it. Those of single versions are read as Go reads truth values.
    fn switched(&self, key: &str, value: &str) -> Result<bool, ValueError> {
        let is_single = self.version().is_some();
        let refused = || ValueError::NoSwitch { key: key.to_owned(), value: value.to_owned() };
        match value {
            "true" => Ok(true),
            "false" => Ok(false),
            "" if is_single => Ok(true),
            other => truth(other).filter(|_| is_single).ok_or_else(refused),
        }
    }

    fn covers(&self, candidate: &ResourceDescription) -> bool {
        let kind = candidate.kind;
        match self {
            Self::Everything => true,
            Self::Stability(stability) => *stability == Stability::from_version(kind.version),
            Self::Version { group, version } => kind.group == group && kind.version == version,
            Self::Resource { group, version, resource } => {
                kind.group == group && kind.version == version && candidate.plural == resource
            }
        }
    }
}

impl Stability {
    fn from_version(version: &str) -> Self {
        if version.contains("alpha") {
            Self::Alpha
        } else if version.contains("beta") {
            Self::Beta
        } else {
            Self::Stable
        }
    }
}

/// Returns whether a version is an alpha version.
pub(super) fn is_alpha(version: &str) -> bool {
    Stability::from_version(version) == Stability::Alpha
}

/// Returns whether a text is a version such as `v1` or `v2beta1`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
