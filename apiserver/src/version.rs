//! `/version`: the version of this server, and the Kubernetes version that it implements.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue, SERVER};
use registry_core::release::{PRODUCT, Release};
use serde_json::json;

/// The Kubernetes version whose API this server implements, and its own, as build metadata, which clients ignore when they
/// compare versions. (`kubectl --match-server-version` compares the commit too, and so never matches another build.)
pub const GIT_VERSION: &str = concat!("v1.36.2+orlop.", env!("CARGO_PKG_VERSION"));

/// The version of `apiserver --version`, behind the name.
pub(crate) const LONG_VERSION: &str = env!("ORLOP_LONG_VERSION");

/// The commit that this server was built from; empty if it was not built in a checkout.
pub(crate) const GIT_COMMIT: &str = env!("ORLOP_COMMIT");

/// This server's own version, in the `Server` header of `/version`.
pub const SERVER_VERSION: &str = PRODUCT;

/// The release of Kubernetes whose API this server implements.
pub(crate) const BINARY_RELEASE: Release = Release::new(1, 36);
/// The oldest release that can be emulated.
pub(crate) const OLDEST_RELEASE: Release = Release { minor: BINARY_RELEASE.minor - 3, ..BINARY_RELEASE };

/// Constant, so that builds are reproducible.
const BUILD_DATE: &str = "1970-01-01T00:00:00Z";

/// The releases in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveReleases {
    /// The release that the server emulates.
    pub emulation: Release,
    /// The oldest release whose servers can read the stored objects.
    pub min_compatibility: Release,
}

// === impl EffectiveReleases ===

impl Default for EffectiveReleases {
    fn default() -> Self {
        Self::emulating(BINARY_RELEASE)
    }
}

impl EffectiveReleases {
    /// Returns the releases of a server that emulates one of them, and is compatible with the one before.
    pub fn emulating(emulation: Release) -> Self {
        Self { emulation, min_compatibility: emulation.previous().max(OLDEST_RELEASE) }
    }

    /// Returns whether an earlier release than the server's own is emulated.
    pub fn is_emulating(self) -> bool {
        self.emulation != BINARY_RELEASE
    }
}

/// Returns the body of `/version` of a server that emulates a release.
pub(crate) fn body(releases: EffectiveReleases) -> Bytes {
    let EffectiveReleases { emulation, min_compatibility } = releases;
    let version = json!({
        "major": BINARY_RELEASE.major.to_string(),
        "minor": BINARY_RELEASE.minor.to_string(),
        "emulationMajor": emulation.major.to_string(),
        "emulationMinor": emulation.minor.to_string(),
        "minCompatibilityMajor": min_compatibility.major.to_string(),
        "minCompatibilityMinor": min_compatibility.minor.to_string(),
        "gitVersion": GIT_VERSION,
        "gitCommit": GIT_COMMIT,
        "gitTreeState": "",
        "buildDate": BUILD_DATE,
        "goVersion": "",
        "compiler": "rustc",
        "platform": platform(),
    });
    Bytes::from(format!("{version:#}"))
}

/// Responds to a request of `/version` with its body.
pub(crate) fn response(body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(SERVER, HeaderValue::from_static(SERVER_VERSION));
    response
}

/// Returns the values of `kubernetes_build_info`: major, minor, version, commit, tree state, date, Go's
/// version, compiler and platform.
pub(crate) fn build_info() -> [String; 9] {
    let (major, minor) = (BINARY_RELEASE.major.to_string(), BINARY_RELEASE.minor.to_string());
    [major.as_str(), &minor, GIT_VERSION, GIT_COMMIT, "", BUILD_DATE, "", "rustc", &platform()]
        .map(str::to_owned)
}

/// Returns the version of Kubernetes, without that of this server.
pub(crate) fn kubernetes_version() -> &'static str {
    GIT_VERSION.split('+').next().unwrap_or(GIT_VERSION)
}

fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, architecture())
}

/// Returns the processor architecture, under the name that Kubernetes' clients use.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
