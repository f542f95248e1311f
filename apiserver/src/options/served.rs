//! The resources that are served: those that `--runtime-config` enables, whose features are enabled, and that the emulated
//! release has.
//!
//! Kubernetes concept: `ResourceExpirationEvaluator` in `k8s.io/apiserver/pkg/server`.

use std::collections::{BTreeMap, BTreeSet};

use registry_core::api::{GroupVersion, GroupVersionResource, compare_versions};
use registry_core::resource::ResourceDescription;

use super::runtime_config::is_alpha;
use super::{EmulationOptions, FeatureGates, Options, RuntimeConfig, RuntimeConfigError};

/// The served resources.
#[derive(Clone, Debug, Default)]
pub struct ServedResources(BTreeSet<GroupVersionResource>);

/// A group and a resource, whose versions belong together.
type Resource = (&'static str, &'static str);

/// The choice of the served resources, from the versions of lowest priority up.
struct Choice<'a> {
    runtime_config: RuntimeConfig,
    gates: FeatureGates,
    emulation: &'a EmulationOptions,
    served: BTreeSet<GroupVersionResource>,
    /// The resources of which a beta or stable version is served.
    in_lower_version: BTreeSet<Resource>,
}

// === impl ServedResources ===

impl ServedResources {
    /// Returns the resources that a server with these options serves of those that it has.
    ///
    /// # Errors
    /// Fails if `--runtime-config` enables something that is newer than the emulated release.
    pub fn new(
        options: &Options,
        resources: &[&'static ResourceDescription],
    ) -> Result<Self, RuntimeConfigError> {
        let mut choice = Choice {
            runtime_config: options.runtime_config(),
            gates: options.feature_gates(),
            emulation: &options.emulation,
            served: BTreeSet::new(),
            in_lower_version: BTreeSet::new(),
        };
        let mut resources = resources.to_vec();
        resources.sort_by(|a, b| compare_versions(a.kind.version, b.kind.version));
        for resource in &resources {
            choice.decide(resource)?;
        }
        choice.check_versions(&resources)?;
        Ok(Self(choice.served))
    }

    /// Returns whether a resource is served.
    pub fn contains(&self, resource: &ResourceDescription) -> bool {
        self.0.contains(&resource.resource())
    }
}

// === impl Choice ===

impl Choice<'_> {
    fn decide(&mut self, resource: &ResourceDescription) -> Result<(), RuntimeConfigError> {
        let has_feature = resource.feature.is_none_or(|feature| self.gates.is_enabled(feature));
        if !has_feature || !self.is_enabled(resource) || !self.is_in_release(resource)? {
            return Ok(());
        }
        self.served.insert(resource.resource());
        // Nothing follows from alpha versions.
        if !is_alpha(resource.kind.version) {
            self.in_lower_version.insert((resource.kind.group, resource.plural));
        }
        Ok(())
    }

    /// Whether the resource is enabled: by itself, or because an older version is and newer ones are to be served with it.
    fn is_enabled(&self, resource: &ResourceDescription) -> bool {
        self.runtime_config.is_enabled(resource)
            || self.is_newer_version(resource) && self.runtime_config.explicit(resource) != Some(false)
    }

    /// Whether newer versions are to be served too, and this is one.
    fn is_newer_version(&self, resource: &ResourceDescription) -> bool {
        self.emulation.emulation_forward_compatible
            && self.in_lower_version.contains(&(resource.kind.group, resource.plural))
    }

    /// Whether the emulated release has the resource, or it is served although it is newer.
    fn is_in_release(&self, resource: &ResourceDescription) -> Result<bool, RuntimeConfigError> {
        let release = self.emulation.releases().emulation;
        if resource.lifecycle.is_removed(release) {
            return Ok(false);
        }
        if resource.lifecycle.is_introduced(release) || self.is_newer_version(resource) {
            return Ok(true);
        }
        let is_named = self.runtime_config.explicit(resource) == Some(true);
        if is_named && self.emulation.runtime_config_emulation_forward_compatible {
            return Ok(true);
        }
        match resource.lifecycle.introduced {
            Some(introduced) if self.runtime_config.names_resource(resource) => {
                let GroupVersionResource { group, version, resource } = resource.resource();
                let version = GroupVersion { group, version }.api_version();
                let resource = format!("{version}, Resource={resource}");
                Err(RuntimeConfigError::NewerResource { resource, introduced, release })
            }
            _ => Ok(false),
        }
    }

    /// Checks that nothing is left of no version that is enabled by its name.
    fn check_versions(&self, resources: &[&'static ResourceDescription]) -> Result<(), RuntimeConfigError> {
        let release = self.emulation.releases().emulation;
        let mut are_newer: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for resource in resources.iter().filter(|resource| self.runtime_config.names_version(resource)) {
            let is_newer =
                !resource.lifecycle.is_introduced(release) && !self.served.contains(&resource.resource());
            *are_newer.entry((resource.kind.group, resource.kind.version)).or_insert(true) &= is_newer;
        }
        match are_newer.into_iter().find(|(_, are_newer)| *are_newer) {
            Some(((group, version), _)) => {
                Err(RuntimeConfigError::NewerVersion { version: format!("{group}/{version}"), release })
            }
            None => Ok(()),
        }
    }
}
