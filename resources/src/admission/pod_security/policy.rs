//! The pod security labels of a namespace.

use std::fmt;

use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::api::{FieldPath, Object};

/// The prefix of labels, and of annotations in the audit log.
pub(super) const PREFIX: &str = "pod-security.kubernetes.io/";

/// The security level of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// No restrictions.
    #[default]
    Privileged,
    /// Prevents known privilege escalations.
    Baseline,
    /// Restricts everything that pods do not need.
    Restricted,
}

/// The minor version of Kubernetes that defines a level; all versions are 1.x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// `v1.x`.
    Minor(u32),
    /// The latest known version.
    #[default]
    Latest,
}

/// A level as defined by a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) level: Level,
    pub(super) version: Version,
}

/// The levels that a namespace enforces, and those whose violations it records or warns about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Bar,
    pub(super) audit: Bar,
    pub(super) warn: Bar,
}

// === impl Policy ===

impl Policy {
    /// Reads the labels of a namespace. If a label is invalid, the strictest level is enforced, and nothing is warned
    /// about.
    pub(super) fn of(namespace: &Object) -> (Self, ErrorList) {
        let mut errors = ErrorList::default();
        let label = |name: &str| {
            let key = format!("{PREFIX}{name}");
            namespace.labels().find(|(label, _)| *label == key).map(|(_, value)| value)
        };
        let mut bar = |mode: &str, unreadable: Level| {
            let mut refuse = |name: &str, value: &str, detail: &str| {
                let path = FieldPath::new("metadata").child("labels").key(&format!("{PREFIX}{name}"));
                errors.push(FieldError::invalid(path, value, detail));
            };
            let level = label(mode).map_or(Level::Privileged, |text| {
                Level::parse(text).unwrap_or_else(|| {
                    refuse(mode, text, "must be one of privileged, baseline, restricted");
                    unreadable
                })
            });
            let name = format!("{mode}-version");
            let version = label(&name).map_or(Version::Latest, |text| {
                Version::parse(text).unwrap_or_else(|| {
                    refuse(&name, text, "must be \"latest\" or \"v1.x\"");
                    Version::Latest
                })
            });
            Bar { level, version }
        };
        let enforce = bar("enforce", Level::Restricted);
        let audit = bar("audit", Level::Privileged);
        let warn = bar("warn", Level::Privileged);
        (Self { enforce, audit, warn }, errors)
    }

    /// Whether the policy allows everything.
    pub(super) fn is_privileged(self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|bar| bar.level == Level::Privileged)
    }
}

// === impl Bar ===

impl Bar {
    /// Whether a pod that passed `other` may fail this one.
    pub(super) fn is_stricter_than(self, other: Self) -> bool {
        self.level != Level::Privileged && (self.version != other.version || self.level > other.level)
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(f, "{level}:latest"),
            Version::Minor(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

// === impl Level ===

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

// === impl Version ===

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let plain =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        digits.parse().ok().filter(|_| plain).map(Self::Minor)
    }
}
