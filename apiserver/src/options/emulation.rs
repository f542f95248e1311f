//! `--emulated-version` and its neighbours: the release of Kubernetes that the server behaves as, and the oldest one that it
//! shares its store with.
//!
//! Kubernetes concept:
//! [compatibility versions](https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/).

use std::str::FromStr;

use clap::{ArgAction, Args};
use registry_core::release::{Release, ReleaseError};

use super::OptionsError;
use crate::version::{BINARY_RELEASE, EffectiveReleases, OLDEST_RELEASE};

/// The component whose version can be named with it: `kube=1.35`.
const COMPONENT: &str = "kube";

/// The release that the server emulates.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "APIs")]
pub struct EmulationOptions {
    /// Release of Kubernetes whose kinds, versions of kinds and features the server has: `1.33` to `1.36`, or `kube=1.33`
    /// [default: 1.36]
    #[arg(long, value_name = "RELEASE", value_delimiter = ',')]
    pub emulated_version: Vec<ComponentRelease>,

    /// Oldest release of Kubernetes whose servers can read the stored objects: `1.33` up to `--emulated-version`
    /// [default: the release before the emulated one]
    #[arg(long, value_name = "RELEASE", value_delimiter = ',')]
    pub min_compatibility_version: Vec<ComponentRelease>,

    /// Whether newer versions of the beta and stable kinds of the emulated release are served too
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub emulation_forward_compatible: bool,

    /// Whether `--runtime-config` can enable single APIs that are newer than the emulated release; otherwise the server
    /// does not start with them
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub runtime_config_emulation_forward_compatible: bool,
}

/// One value of `--emulated-version` or `--min-compatibility-version`: the release of the only component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentRelease(pub Release);

/// A release, or its component, cannot be emulated. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComponentReleaseError {
    /// The server does not have the component.
    #[error("component not registered: {0}; write {oldest}, or kube={oldest}", oldest = OLDEST_RELEASE)]
    Component(String),
    /// It is not a release.
    #[error("{0}; write {oldest} to {newest}", oldest = OLDEST_RELEASE, newest = BINARY_RELEASE)]
    Release(#[from] ReleaseError),
}

// === impl ComponentRelease ===

impl FromStr for ComponentRelease {
    type Err = ComponentReleaseError;

    fn from_str(text: &str) -> Result<Self, ComponentReleaseError> {
        let (component, release) = text.split_once('=').unwrap_or((COMPONENT, text));
        let (component, release) = (component.trim(), release.trim());
        if component != COMPONENT {
            return Err(ComponentReleaseError::Component(component.to_owned()));
        }
        Ok(Self(release.parse()?))
    }
}

// === impl EmulationOptions ===

impl EmulationOptions {
    /// Returns the releases in force.
    pub fn releases(&self) -> EffectiveReleases {
        let last = |given: &[ComponentRelease]| given.last().map(|last| last.0);
        let releases = EffectiveReleases::emulating(last(&self.emulated_version).unwrap_or(BINARY_RELEASE));
        let min_compatibility = last(&self.min_compatibility_version);
        EffectiveReleases {
            min_compatibility: min_compatibility.unwrap_or(releases.min_compatibility),
            ..releases
        }
    }

    /// Checks the releases against each other and against the server's own.
    ///
    /// # Errors
    /// Fails as kube-apiserver does, with the way out.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        for (flag, given) in [
            ("emulated-version", &self.emulated_version),
            ("min-compatibility-version", &self.min_compatibility_version),
        ] {
            if let [first, second, ..] = given[..] {
                return Err(OptionsError::RepeatedVersion { flag, first: first.0, second: second.0 });
            }
        }
        let EffectiveReleases { emulation, min_compatibility } = self.releases();
        if !(OLDEST_RELEASE..=BINARY_RELEASE).contains(&emulation) {
            return Err(OptionsError::Emulation(emulation));
        }
        if !(OLDEST_RELEASE..=emulation).contains(&min_compatibility) {
            return Err(OptionsError::Compatibility { min_compatibility, emulation });
        }
        if self.releases().is_emulating() {
            return Ok(());
        }
        for (name, flag, is_given) in [
            ("EmulationForwardCompatible", "emulation-forward-compatible", self.emulation_forward_compatible),
            (
                "RuntimeConfigEmulationForwardCompatible",
                "runtime-config-emulation-forward-compatible",
                self.runtime_config_emulation_forward_compatible,
            ),
        ] {
            if is_given {
                return Err(OptionsError::NoEmulation { name, flag });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn releases(flags: &[&str]) -> Result<(String, String), String> {
        let arguments = [&["apiserver"], flags].concat();
        let options = Options::from_arguments(arguments).map_err(|error| error.to_string())?;
        options.validate().map_err(|error| error.to_string())?;
        let EffectiveReleases { emulation, min_compatibility } = options.emulation.releases();
        Ok((emulation.to_string(), min_compatibility.to_string()))
    }

    #[test]
    fn the_emulated_release_decides_the_oldest_compatible_one() {
        for (flags, emulation, min_compatibility) in [
            (&[][..], "1.36", "1.35"),
            (&["--emulated-version=1.36"], "1.36", "1.35"),
            (&["--emulated-version=kube=1.34"], "1.34", "1.33"),
            (&["--emulated-version", "v1.33"], "1.33", "1.33"),
            (&["--emulated-version=1.35.0", "--min-compatibility-version=1.33"], "1.35", "1.33"),
            (&["--min-compatibility-version=kube=1.36"], "1.36", "1.36"),
            (&["--emulated-version=1.35", "--emulation-forward-compatible"], "1.35", "1.34"),
        ] {
            let expected = (emulation.to_owned(), min_compatibility.to_owned());
            assert_eq!(releases(flags), Ok(expected), "{flags:?}");
        }
    }

    #[test]
    fn releases_that_cannot_be_emulated_are_refused_with_a_way_out() {
        for (flags, reason) in [
            (
                &["--emulated-version=1.32"][..],
                "emulation version 1.32 is not between [1.33, 1.36.0]: give one of these as --emulated-version",
            ),
            (&["--emulated-version=1.37"], "emulation version 1.37 is not between [1.33, 1.36.0]"),
            (
                &["--emulated-version=1.34", "--min-compatibility-version=1.35"],
                "minCompatibilityVersion version 1.35 is not between [1.33, 1.34]: give one of these as",
            ),
            (&["--min-compatibility-version=1.32"], "1.32 is not between [1.33, 1.36]"),
            (&["--emulated-version=latest"], "could not parse \"latest\" as version; write 1.33 to 1.36"),
            (&["--emulated-version=1.x"], "illegal non-numeric version component \"x\" in \"1.x\""),
            (&["--emulated-version=1.35.2"], "patch version not allowed, got: 1.35.2"),
            (&["--emulated-version==1.35"], "component not registered: ; write 1.33, or kube=1.33"),
            (&["--emulated-version=wardle=1.2"], "component not registered: wardle"),
            (&["--emulated-version=1.34,kube=1.35"], "duplicate version flag, kube=1.34 and kube=1.35"),
            (
                &["--emulation-forward-compatible=true"],
                "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version is the same",
            ),
            (
                &["--runtime-config-emulation-forward-compatible"],
                "leave --runtime-config-emulation-forward-compatible out, or give --emulated-version",
            ),
        ] {
            let error = releases(flags).expect_err("a release that cannot be emulated");
            assert!(error.contains(reason), "{flags:?}: {error}");
        }
    }
}
