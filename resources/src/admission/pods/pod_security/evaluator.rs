//! Evaluation of a pod against a level.

use super::checks::{Check, PodView, Violation};
use super::policy::{Level, LevelVersion, Version};
use super::{baseline, restricted};

/// All violations of a level by one pod.
#[derive(Debug)]
pub(super) struct Violations(Vec<Violation>);

/// Evaluates a pod against a level: first the checks of all levels, then those of the strictest one; each part sorted
/// by check name.
pub(super) fn evaluate(required: LevelVersion, pod: &PodView<'_, '_>) -> Violations {
    let counts = |check: &&Check| {
        check.level <= required.level
            && match required.version {
                Version::Latest => true,
                Version::Minor(minor) => check.since <= minor,
            }
    };
    if required.level == Level::Privileged {
        return Violations(Vec::new());
    }
    let all: Vec<&Check> = baseline::CHECKS.iter().chain(restricted::CHECKS).filter(counts).collect();
    let overridden: Vec<&str> = all.iter().map(|check| check.overrides).collect();
    let effective = all.iter().filter(|check| !overridden.contains(&check.id));
    Violations(effective.filter_map(|check| (check.find)(pod, required.version)).collect())
}

// === impl Violations ===

impl Violations {
    /// Whether there are no violations.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the violations in short form.
    pub(super) fn reasons(&self) -> String {
        self.0.iter().map(|violation| violation.reason.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the violations with details.
    pub(super) fn details(&self) -> String {
        let texts = self.0.iter().map(|violation| {
            if violation.detail.is_empty() {
                violation.reason.clone()
            } else {
                format!("{} ({})", violation.reason, violation.detail)
            }
        });
        texts.collect::<Vec<_>>().join(", ")
    }
}
