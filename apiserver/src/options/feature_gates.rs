//! `--feature-gates`: features that an operator can enable or disable.
//!
//! Kubernetes concept:
//! [feature gates](https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use registry_core::features::{Feature, Features};

use super::arguments::truth;
use super::{OptionsError, ValueError};
use crate::version::{BINARY_RELEASE, EffectiveReleases};

mod table;
#[cfg(test)]
mod tests;

pub use table::{Gate, GateState};

/// The component whose gates can be named with it: `kube:WatchList=true`.
const COMPONENT: &str = "kube:";

/// Gates that an API server reads, but by which nobody outside of it can tell: by which goroutine a request is served, from
/// where the pages of a list come, where watched objects are decoded, and the encodings of a server's own clients. Addresses
/// are never written to bitmaps here.
const WITHOUT_EFFECT: [&str; 6] = [
    "APIServingWithRoutine",
    "ClientsAllowCBOR",
    "ClientsPreferCBOR",
    "ConcurrentWatchObjectDecode",
    "DisableAllocatorDualWrite",
    "ListFromCacheSnapshot",
];

/// The gates that stand for all gates of a stage, with the stage.
const WHOLE_STAGES: [(&str, &str); 2] = [("AllAlpha", "ALPHA"), ("AllBeta", "BETA")];

/// One `Feature=BOOL` of `--feature-gates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSwitch {
    /// The gate.
    pub gate: Gate,
    /// Whether the feature is enabled.
    pub enabled: bool,
}

/// The features in force in the emulated release. The last switch of a feature takes precedence; `AllAlpha` and `AllBeta`
/// switch those of their stage that have no switch of their own and that this server can switch.
#[derive(Clone, Debug, Default)]
pub struct FeatureGates {
    switches: Vec<FeatureSwitch>,
    /// The last switch of each gate, by its name.
    of_gates: HashMap<&'static str, FeatureSwitch>,
    /// The last switch of all gates of each stage.
    of_stages: HashMap<&'static str, FeatureSwitch>,
    releases: EffectiveReleases,
}

// === impl FeatureSwitch ===

impl FromStr for FeatureSwitch {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let text = text.trim();
        let (name, value) = text
            .strip_prefix(COMPONENT)
            .unwrap_or(text)
            .split_once('=')
            .ok_or_else(|| ValueError::NoTruth(text.to_owned()))?;
        let (name, value) = (name.trim(), value.trim());
        let unknown = || ValueError::UnknownGate { name: name.to_owned(), switchable: switchable() };
        let gate = Gate::named(name).ok_or_else(unknown)?;
        let enabled = truth(value).ok_or_else(|| ValueError::NeitherTrueNorFalse(value.to_owned()))?;
        Ok(Self { gate, enabled })
    }
}

impl FeatureSwitch {
    /// Returns the feature; `None` if the gate cannot be switched in this server.
    fn feature(self) -> Option<Feature> {
        Feature::ALL.iter().copied().find(|feature| feature.name() == self.gate.name())
    }

    /// Returns the stage whose gates it switches; `None` if it switches one gate.
    fn stage(self) -> Option<&'static str> {
        WHOLE_STAGES.iter().find(|(name, _)| *name == self.gate.name()).map(|(_, stage)| *stage)
    }

    /// Checks that the gate can be switched in these releases.
    fn check(self, releases: EffectiveReleases) -> Result<(), OptionsError> {
        let (name, enabled) = (self.gate.name(), self.enabled);
        let EffectiveReleases { emulation, min_compatibility } = releases;
        let Some(state) = self.gate.state(emulation) else {
            return Err(OptionsError::FeatureTooNew { name, enabled, emulation, min_compatibility });
        };
        if enabled == state.default || self.stage().is_some() {
            return Ok(());
        }
        if state.is_locked {
            return Err(OptionsError::FeatureLocked { name, enabled, default: state.default });
        }
        let behavior = self.gate.state(BINARY_RELEASE).is_some_and(|own| own.default);
        let is_free = self.gate.is_elsewhere() || WITHOUT_EFFECT.contains(&name);
        if is_free || self.feature().is_some() || enabled == behavior {
            return Ok(());
        }
        let reason = if enabled {
            "the feature is not implemented"
        } else {
            "the server has no other behavior than that with the feature"
        };
        Err(OptionsError::FeatureFixed { name, enabled, reason, switchable: switchable() })
    }
}

/// Returns the names of the features that can be switched.
fn switchable() -> String {
    Feature::ALL.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ")
}

// === impl FeatureGates ===

impl FeatureGates {
    pub(super) fn new(switches: &[FeatureSwitch], releases: EffectiveReleases) -> Self {
        let of_gates = switches.iter().map(|switch| (switch.gate.name(), *switch));
        let of_stages = switches.iter().filter_map(|switch| Some((switch.stage()?, *switch)));
        Self {
            switches: switches.to_vec(),
            of_gates: of_gates.collect(),
            of_stages: of_stages.collect(),
            releases,
        }
    }

    /// Checks that the gates can be switched in the emulated release.
    pub(super) fn check(&self) -> Result<(), OptionsError> {
        self.switches.iter().try_for_each(|switch| switch.check(self.releases))
    }

    /// Logs warnings for the features that keep their value although all of their stage are switched, and for alpha
    /// features that are enabled beside an emulated release.
    pub fn warn(&self) {
        for switch in WHOLE_STAGES.iter().filter_map(|(name, _)| self.switch_of(Gate::named(name)?)) {
            let kept = self.kept(switch);
            if !kept.is_empty() {
                let (name, enabled, kept) = (switch.gate.name(), switch.enabled, kept.join(", "));
                tracing::warn!(
                    "--feature-gates: {name}={enabled} does not change these features, which the server cannot switch: \
                     {kept}"
                );
            }
        }
        let early = self.all().filter(|(_, state, enabled)| state.stage == "ALPHA" && *enabled);
        let names: Vec<&str> = early.map(|(gate, ..)| gate.name()).collect();
        if self.releases.is_emulating() && !names.is_empty() {
            let names = names.join(", ");
            tracing::warn!(
                "--feature-gates: alpha features are not supported with an emulated version: {names}"
            );
        }
    }

    /// Returns the enabled features.
    pub fn enabled(&self) -> Vec<Feature> {
        let enabled = self.all().filter(|(_, _, enabled)| *enabled);
        let names: HashSet<&str> = enabled.map(|(gate, ..)| gate.name()).collect();
        Feature::ALL.iter().copied().filter(|feature| names.contains(feature.name())).collect()
    }

    /// Returns the enabled features as a set.
    pub fn features(&self) -> Features {
        self.enabled().into_iter().collect()
    }

    /// Returns whether a feature is enabled.
    pub fn is_enabled(&self, feature: Feature) -> bool {
        Gate::named(feature.name()).and_then(|gate| self.value(gate)).is_some_and(|(_, enabled)| enabled)
    }

    /// Returns the gates of the emulated release, with their states, and whether they are enabled.
    pub fn all(&self) -> impl Iterator<Item = (Gate, GateState, bool)> {
        Gate::all().filter_map(|gate| self.value(gate).map(|(state, enabled)| (gate, state, enabled)))
    }

    /// Returns the state of a gate in the emulated release, and whether it is enabled.
    fn value(&self, gate: Gate) -> Option<(GateState, bool)> {
        let state = gate.state(self.releases.emulation)?;
        let own = self.switch_of(gate).or_else(|| {
            let switch = FeatureSwitch { enabled: self.switch_of_stage(gate, state)?.enabled, gate };
            switch.check(self.releases).is_ok().then_some(switch)
        });
        Some((state, own.map_or(state.default, |switch| switch.enabled)))
    }

    /// Returns the last switch of a gate itself.
    fn switch_of(&self, gate: Gate) -> Option<FeatureSwitch> {
        self.of_gates.get(gate.name()).copied()
    }

    /// Returns the last switch of all gates of the stage that a gate is in.
    fn switch_of_stage(&self, gate: Gate, state: GateState) -> Option<FeatureSwitch> {
        if WHOLE_STAGES.iter().any(|(name, _)| *name == gate.name()) {
            return None;
        }
        self.of_stages.get(state.stage).copied()
    }

    /// Returns the names of the gates that keep their value although all of their stage are switched.
    fn kept(&self, all: FeatureSwitch) -> Vec<&'static str> {
        let is_kept = |(gate, state, enabled): &(Gate, GateState, bool)| {
            *enabled != all.enabled
                && self.switch_of(*gate).is_none()
                && self.switch_of_stage(*gate, *state) == Some(all)
        };
        self.all().filter(is_kept).map(|(gate, ..)| gate.name()).collect()
    }
}
