//! Minor releases of Kubernetes, in which kinds appear and disappear and features change their defaults.

pub mod features;

use std::fmt;
use std::str::FromStr;

/// The name and the version of this program, as HTTP headers have it.
pub const PRODUCT: &str = concat!("orlop/", env!("CARGO_PKG_VERSION"));

/// A minor release of Kubernetes, such as 1.36. Releases are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
}

/// The releases in which a kind is served in a version.
///
/// Kubernetes concept: the tags `prerelease-lifecycle-gen` of API types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// The first release that serves it; `None` if all supported releases do.
    pub introduced: Option<Release>,
    /// The first release that no longer serves it; `None` if it is not known.
    pub removed: Option<Release>,
}

/// A text is not a release. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// It has not the form of a version.
    #[error("could not parse {0:?} as version")]
    Form(String),
    /// A part of it is not a number.
    #[error("illegal non-numeric version component {component:?} in {text:?}")]
    Component {
        /// The part.
        component: String,
        /// The text.
        text: String,
    },
    /// A part of it begins with 0.
    #[error("illegal zero-prefixed version component {component:?} in {text:?}")]
    ZeroPrefix {
        /// The part.
        component: String,
        /// The text.
        text: String,
    },
    /// It names a patch release.
    #[error("patch version not allowed, got: {0}")]
    Patch(String),
}

// === impl Release ===

impl Release {
    /// Returns the release with these numbers.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Returns the release before it.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self { major: self.major, minor: self.minor.saturating_sub(1) }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Release {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let trimmed = text.trim();
        let parts: Vec<&str> = trimmed.strip_prefix('v').unwrap_or(trimmed).split('.').collect();
        let form = || ReleaseError::Form(text.to_owned());
        if !(2..=3).contains(&parts.len()) || parts.iter().any(|part| part.is_empty()) {
            return Err(form());
        }
        let number = |part: &str| {
            let named = || (part.to_owned(), text.to_owned());
            if part.len() > 1 && part.starts_with('0') {
                let (component, text) = named();
                return Err(ReleaseError::ZeroPrefix { component, text });
            }
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten().ok_or_else(
                || {
                    let (component, text) = named();
                    ReleaseError::Component { component, text }
                },
            )
        };
        let numbers = parts.into_iter().map(number).collect::<Result<Vec<u16>, _>>()?;
        match numbers[..] {
            [major, minor] | [major, minor, 0] => Ok(Self { major, minor }),
            _ => Err(ReleaseError::Patch(trimmed.to_owned())),
        }
    }
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Returns whether it exists in this release already.
    pub fn is_introduced(&self, release: Release) -> bool {
        self.introduced.is_none_or(|introduced| introduced <= release)
    }

    /// Returns whether this release no longer has it.
    pub fn is_removed(&self, release: Release) -> bool {
        self.removed.is_some_and(|removed| removed <= release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_kubernetes_reads_them() {
        for (text, release) in [("1.36", (1, 36)), ("v1.33", (1, 33)), (" 1.34.0 ", (1, 34)), ("2.0", (2, 0))]
        {
            assert_eq!(text.parse(), Ok(Release::new(release.0, release.1)), "{text}");
        }
        for (text, reason) in [
            ("", "could not parse \"\" as version"),
            ("1", "could not parse \"1\" as version"),
            ("1.", "could not parse"),
            ("latest.x", "illegal non-numeric version component \"latest\" in \"latest.x\""),
            ("1.+3", "illegal non-numeric version component \"+3\""),
            ("1.99999999", "illegal non-numeric version component"),
            ("1.033", "illegal zero-prefixed version component \"033\" in \"1.033\""),
            ("1.36.2", "patch version not allowed, got: 1.36.2"),
        ] {
            let error = text.parse::<Release>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(Release::new(1, 9) < Release::new(1, 10) && Release::new(1, 99) < Release::new(2, 0));
    }
}
