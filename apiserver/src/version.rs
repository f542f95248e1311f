//! `/version`: the version of this server, and the Kubernetes version that it implements.

use std::sync::LazyLock;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue, SERVER};
use serde_json::json;

/// The Kubernetes version whose API this server implements, and its own, as build metadata, which clients ignore when they
/// compare versions. (`kubectl --match-server-version` compares the commit too, and so never matches another build.)
pub const GIT_VERSION: &str = concat!("v1.36.2+orlop.", env!("CARGO_PKG_VERSION"));

/// The version of `apiserver --version`, behind the name.
pub(crate) const LONG_VERSION: &str = env!("ORLOP_LONG_VERSION");

/// The commit that this server was built from; empty if it was not built in a checkout.
pub(crate) const GIT_COMMIT: &str = env!("ORLOP_COMMIT");

/// The version of the API that the server emulates: its own.
pub(crate) const EMULATION_VERSION: &str = "1.36";

/// This server's own version, in the `Server` header of `/version`.
pub const SERVER_VERSION: &str = concat!("orlop/", env!("CARGO_PKG_VERSION"));

/// The Kubernetes version whose API this server implements.
const VERSION: (&str, &str) = ("1", "36");
/// Constant, so that builds are reproducible.
const BUILD_DATE: &str = "1970-01-01T00:00:00Z";

static BODY: LazyLock<Bytes> = LazyLock::new(|| {
    let version = json!({
        "major": VERSION.0,
        "minor": VERSION.1,
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": GIT_COMMIT,
        "gitTreeState": "",
        "buildDate": BUILD_DATE,
        "goVersion": "",
        "compiler": "rustc",
        "platform": platform(),
    });
    Bytes::from(format!("{version:#}"))
});

/// Responds to a request of `/version`.
pub fn response() -> Response<Bytes> {
    let mut response = Response::new(BODY.clone());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(SERVER, HeaderValue::from_static(SERVER_VERSION));
    response
}

/// Returns the values of `kubernetes_build_info`: major, minor, version, commit, tree state, date, Go's
/// version, compiler and platform.
pub(crate) fn build_info() -> [String; 9] {
    let (major, minor) = VERSION;
    [major, minor, GIT_VERSION, GIT_COMMIT, "", BUILD_DATE, "", "rustc", &platform()].map(str::to_owned)
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
