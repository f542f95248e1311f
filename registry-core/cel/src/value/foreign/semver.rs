//! Semantic versions.

use std::cmp::Ordering;
use std::fmt;

use crate::value::{EvaluationError, fail};

/// A semantic version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub(crate) core: [u64; 3],
    pre_release: Vec<String>,
    build: Vec<String>,
}

// === impl Version ===

impl Version {
    pub(crate) fn parse(text: &str) -> Result<Self, Box<EvaluationError>> {
        if text.is_empty() {
            return fail("Version string empty");
        }
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, build.split('.').map(str::to_owned).collect()),
            None => (text, Vec::new()),
        };
        let (core, pre_release) = match rest.split_once('-') {
            Some((core, pre_release)) => (core, pre_release.split('.').map(str::to_owned).collect()),
            None => (rest, Vec::new()),
        };
        let parts: Vec<_> = core.splitn(3, '.').collect();
        let [major, minor, patch] = parts.as_slice() else {
            return fail("No Major.Minor.Patch elements found");
        };
        let core = [number("Major", major)?, number("Minor", minor)?, number("Patch", patch)?];
        check_identifiers(&pre_release, "Prerelease", "prerelease")?;
        check_identifiers(&build, "Build meta data", "build meta data")?;
        for identifier in &pre_release {
            if identifier.len() > 1 && identifier.starts_with('0') && all_digits(identifier) {
                return fail(format!(
                    "Numeric PreRelease version must not contain leading zeroes {identifier:?}"
                ));
            }
        }
        Ok(Self { core, pre_release, build })
    }

    /// Reads a version with a `v` before it, with missing parts, or with leading zeros.
    pub(crate) fn parse_tolerant(text: &str) -> Result<Self, Box<EvaluationError>> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in &mut parts {
            if part.len() > 1 && part.starts_with('0') {
                let trimmed = part.trim_start_matches('0');
                *part = if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                    trimmed.to_owned()
                } else {
                    format!("0{trimmed}")
                };
            }
        }
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return fail("Short version cannot contain PreRelease/Build meta data");
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.core.cmp(&other.core).then_with(|| {
            match (self.pre_release.as_slice(), other.pre_release.as_slice()) {
                ([], []) => Ordering::Equal,
                ([], _) => Ordering::Greater,
                (_, []) => Ordering::Less,
                (a, b) => compare_identifiers(a, b),
            }
        })
    }
}

fn compare_identifiers(first: &[String], second: &[String]) -> Ordering {
    for (a, b) in first.iter().zip(second) {
        let ordering = match (all_digits(a), all_digits(b)) {
            (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => a.cmp(b),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    first.len().cmp(&second.len())
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(name: &str, text: &str) -> Result<u64, Box<EvaluationError>> {
    if !all_digits(text) {
        return if text.is_empty() {
            fail(format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
        } else {
            fail(format!("Invalid character(s) found in {} number {text:?}", name.to_lowercase()))
        };
    }
    if text.len() > 1 && text.starts_with('0') {
        return fail(format!("{name} number must not contain leading zeroes {text:?}"));
    }
    text.parse().or_else(|_| fail(format!("strconv.ParseUint: parsing {text:?}: value out of range")))
}

fn check_identifiers(identifiers: &[String], name: &str, lower: &str) -> Result<(), Box<EvaluationError>> {
    for identifier in identifiers {
        if identifier.is_empty() {
            return fail(format!("{name} is empty"));
        }
        if !identifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return fail(format!("Invalid character(s) found in {lower} {identifier:?}"));
        }
    }
    Ok(())
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.core;
        write!(f, "{major}.{minor}.{patch}")?;
        if !self.pre_release.is_empty() {
            write!(f, "-{}", self.pre_release.join("."))?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build.join("."))?;
        }
        Ok(())
    }
}
