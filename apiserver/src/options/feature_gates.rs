//! `--feature-gates`: features that an operator can enable or disable.
//!
//! Kubernetes concept:
//! [feature gates](https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).

use std::str::FromStr;

use registry_core::features::Feature;

/// One `Feature=BOOL` of `--feature-gates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSwitch {
    /// The feature.
    pub feature: Feature,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// The enabled features. The last switch of a feature takes precedence.
#[derive(Clone, Debug, Default)]
pub struct FeatureGates(Vec<FeatureSwitch>);

// === impl FeatureSwitch ===

impl FromStr for FeatureSwitch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("\"{text}\" has no =: write Feature=true"))?;
        let known = Feature::ALL.into_iter().find(|feature| feature.name() == name.trim());
        let feature = known.ok_or_else(|| {
            let names = Feature::ALL.map(Feature::name).join(", ");
            format!("unrecognized feature gate: {name}; there are: {names}")
        })?;
        let enabled = match value.trim() {
            "true" => true,
            "false" => false,
            other => return Err(format!("\"{other}\" is neither true nor false")),
        };
        Ok(Self { feature, enabled })
    }
}

// === impl FeatureGates ===

impl FeatureGates {
    pub(super) fn new(switches: &[FeatureSwitch]) -> Self {
        Self(switches.to_vec())
    }

    /// Returns the enabled features.
    pub fn enabled(&self) -> Vec<Feature> {
        Feature::ALL.into_iter().filter(|feature| self.is_enabled(*feature)).collect()
    }

    /// Returns whether a feature is enabled.
    pub fn is_enabled(&self, feature: Feature) -> bool {
        let said = self.0.iter().rev().find(|switch| switch.feature == feature);
        said.map_or(feature.is_enabled_by_default(), |switch| switch.enabled)
    }
}
