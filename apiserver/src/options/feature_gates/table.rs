//! The feature gates of kube-apiserver, and their stages and defaults by release.

use registry_core::release::Release;

/// The gates of kube-apiserver v1.36, one per line: the name, `elsewhere` if only other components read it, and for each
/// release since 1.33 that changed it `RELEASE:STAGE:DEFAULT[:locked]`. `cargo xtask codegen --upstream` compares the newest
/// state of each with kube-apiserver's.
const GATES: &str = include_str!("../kubernetes_gates.txt");

/// A gate of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate(&'static str);

/// The state of a gate in a release.
///
/// Kubernetes concept: `FeatureSpec` in `k8s.io/component-base/featuregate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateState {
    /// The maturity: `ALPHA`, `BETA` or `DEPRECATED`; empty for a stable feature.
    pub stage: &'static str,
    /// Whether the feature is enabled by default.
    pub default: bool,
    /// Whether the default cannot be changed.
    pub is_locked: bool,
}

// === impl Gate ===

impl Gate {
    /// Returns all gates, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        GATES.lines().map(Self)
    }

    /// Returns the gate with this name.
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |rest: &str| rest.is_empty() || rest.starts_with(' ');
        Self::all().find(|gate| gate.0.strip_prefix(name).is_some_and(is_named))
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.words().next().unwrap_or_default()
    }

    /// Returns whether only other components than an API server read it.
    pub fn is_elsewhere(self) -> bool {
        self.words().nth(1) == Some("elsewhere")
    }

    /// Returns the state in a release; `None` if the gate does not exist in it yet.
    pub fn state(self, release: Release) -> Option<GateState> {
        self.words()
            .filter_map(change)
            .take_while(|(since, _)| *since <= release)
            .last()
            .map(|(_, state)| state)
    }

    fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.split(' ')
    }
}

/// Reads `RELEASE:STAGE:DEFAULT[:locked]`.
fn change(word: &'static str) -> Option<(Release, GateState)> {
    let mut parts = word.split(':');
    let (release, stage, default) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()? == "true");
    let stage = match stage {
        "alpha" => "ALPHA",
        "beta" => "BETA",
        "deprecated" => "DEPRECATED",
        _ => "",
    };
    Some((release, GateState { stage, default, is_locked: parts.next() == Some("locked") }))
}
