//! The pod security labels of a namespace.

use std::borrow::Cow;
use std::fmt;

use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::api::{FieldPath, Object};

pub(super) const PREFIX: &str = "pod-security.kubernetes.io/";
pub(super) const LEVEL_RULE: &str = "must be one of privileged, baseline, restricted";
pub(super) const VERSION_RULE: &str = "must be \"latest\" or \"v1.x\"";

/// The minor version of Kubernetes that this server is compatible with.
const OWN_MINOR: u32 = 36;

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
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

/// The levels that a namespace enforces, those whose violations are audited, and those it warns about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) audit: LevelVersion,
    pub(super) warn: LevelVersion,
}

// === impl Policy ===

impl Policy {
    /// Reads the labels of a namespace; what they do not say is as in `defaults`. If a label is invalid, the strictest
    /// level is enforced, and nothing is audited or warned about.
    pub(super) fn from_namespace(namespace: &Object, defaults: Self) -> (Self, ErrorList) {
        let mut labels = Labels { namespace, errors: ErrorList::default() };
        let mut policy = Self {
            enforce: labels.level_version("enforce", defaults.enforce, Level::Restricted),
            audit: labels.level_version("audit", defaults.audit, Level::Privileged),
            warn: labels.level_version("warn", defaults.warn, Level::Privileged),
        };
        // Templates are only warned about: what would be refused later is warned about at once.
        let enforced = labels.get("enforce").and_then(Level::parse);
        if labels.get("warn").is_none() && enforced.is_some_and(|level| level > policy.warn.level) {
            policy.warn.level = policy.enforce.level;
            if labels.get("warn-version").is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, labels.errors)
    }

    /// Whether the policy allows everything.
    pub(super) fn is_privileged(self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|required| required.level == Level::Privileged)
    }

    /// Whether both allow the same.
    pub(super) fn is_equivalent(self, other: Self) -> bool {
        let same = |left: LevelVersion, right: LevelVersion| {
            left.level == right.level && (left.level == Level::Privileged || left.version == right.version)
        };
        same(self.enforce, other.enforce) && same(self.audit, other.audit) && same(self.warn, other.warn)
    }
}

/// The labels of a namespace, and the errors in them.
struct Labels<'n> {
    namespace: &'n Object,
    errors: ErrorList,
}

impl<'n> Labels<'n> {
    fn get(&self, name: &str) -> Option<&'n str> {
        label(self.namespace, name)
    }

    fn level_version(&mut self, mode: &str, default: LevelVersion, unreadable: Level) -> LevelVersion {
        let level = self.get(mode).map_or(default.level, |text| {
            Level::parse(text).unwrap_or_else(|| {
                self.refuse(mode, text, LEVEL_RULE);
                unreadable
            })
        });
        let name = format!("{mode}-version");
        let version = self.get(&name).map_or(default.version, |text| {
            Version::parse(text).unwrap_or_else(|| {
                self.refuse(&name, text, VERSION_RULE);
                Version::Latest
            })
        });
        LevelVersion { level, version }
    }

    fn refuse(&mut self, name: &str, value: &str, rule: &str) {
        let path = FieldPath::new("metadata").child("labels").key(&format!("{PREFIX}{name}"));
        self.errors.push(FieldError::invalid(path, value, rule));
    }
}

/// Returns a pod security label of a namespace.
pub(super) fn label<'n>(namespace: &'n Object, name: &str) -> Option<&'n str> {
    let mut labels = namespace.labels();
    labels.find(|(label, _)| label.strip_prefix(PREFIX) == Some(name)).map(|(_, value)| value)
}

// === impl LevelVersion ===

impl LevelVersion {
    /// Whether a pod that passed `other` may fail this one.
    pub(super) fn is_stricter_than(self, other: Self) -> bool {
        self.level != Level::Privileged && (self.version != other.version || self.level > other.level)
    }

    /// Returns the version as a label of metrics, of which there is a bounded number.
    pub(super) fn version_label(self) -> Cow<'static, str> {
        match self.version {
            _ if self.level == Level::Privileged => "latest".into(),
            Version::Latest => "latest".into(),
            Version::Minor(minor) if minor > OWN_MINOR => "future".into(),
            Version::Minor(minor) => format!("v1.{minor}").into(),
        }
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level.as_str();
        match self.version {
            Version::Latest => write!(f, "{level}:latest"),
            Version::Minor(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

// === impl Level ===

impl Level {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
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
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let plain =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        digits.parse().ok().filter(|_| plain).map(Self::Minor)
    }
}
