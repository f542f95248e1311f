//! `--tracing-config-file`.
//!
//! Kubernetes concept: `TracingConfiguration` of `apiserver.config.k8s.io`.

use std::path::{Path, PathBuf};

use registry_core::codec::{Limits, yaml};
use serde::Deserialize;
use serde_json::Value;

/// The versions of the file.
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
const GROUP: &str = "apiserver.config.k8s.io";
const KIND: &str = "TracingConfiguration";
/// The collector on this machine, at OTLP's port.
const DEFAULT_ENDPOINT: &str = "localhost:4317";
const MILLION: u32 = 1_000_000;

/// Where spans are sent, and of how many requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TracingConfiguration {
    /// The URI of the collector.
    pub(crate) uri: String,
    /// Number of requests of a million that are sampled, beside those whose clients decide it.
    pub(crate) sampled_per_million: u32,
}

/// Error of the tracing configuration. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the tracing configuration {path}: {reason}")]
pub struct TracingError {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    endpoint: Option<String>,
    sampling_rate_per_million: Option<i32>,
}

// === impl TracingConfiguration ===

impl TracingConfiguration {
    /// Reads the file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or has an invalid field.
    pub(crate) fn read(path: &Path) -> Result<Self, TracingError> {
        let failed = |reason: String| TracingError { path: path.to_owned(), reason };
        let content = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&content).map_err(failed)
    }

    fn parse(content: &[u8]) -> Result<Self, String> {
        let decoded = yaml::decode(content, &Limits::default()).map_err(|error| error.0)?;
        if !decoded.duplicates.is_empty() {
            return Err(format!("strict decoding error: {}", decoded.duplicates.join(", ")));
        }
        let text = |field: &str| decoded.value.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let is_version = api_version
            .split_once('/')
            .is_some_and(|(group, version)| group == GROUP && VERSIONS.contains(&version));
        if !is_version || kind != KIND {
            return Err(format!("no kind {kind:?} is registered for version {api_version:?}"));
        }
        let file: File = serde_json::from_value(decoded.value)
            .map_err(|error| format!("strict decoding error: {error}"))?;
        Ok(Self {
            uri: uri(file.endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT))?,
            sampled_per_million: rate(file.sampling_rate_per_million.unwrap_or_default())?,
        })
    }
}

fn rate(rate: i32) -> Result<u32, String> {
    let invalid = |why: &str| format!("samplingRatePerMillion: Invalid value: {rate}: {why}");
    let rate = u32::try_from(rate).map_err(|_| invalid("sampling rate must be positive"))?;
    if rate > MILLION {
        return Err(invalid("sampling rate per million must be less than or equal to one million"));
    }
    Ok(rate)
}

/// Returns the URI of an endpoint, which has one of gRPC's name schemes or none.
fn uri(endpoint: &str) -> Result<String, String> {
    let invalid = |why: &str| format!("endpoint: Invalid value: {endpoint:?}: {why}");
    let (scheme, rest) = endpoint.split_once("//").unwrap_or(("dns:", endpoint));
    match scheme {
        // `dns://server/name`: the name server cannot be chosen.
        "dns:" => {
            let name = rest.strip_prefix('/').unwrap_or(rest);
            if name.is_empty() || name.contains('/') {
                return Err(invalid("it is no host and port"));
            }
            Ok(format!("http://{name}"))
        }
        "unix:" => Ok(format!("unix://{rest}")),
        "unix-abstract:" => Err(invalid("abstract sockets are not supported: use unix or a port")),
        other => Err(invalid(&format!(
            "unsupported scheme: {}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md",
            other.trim_end_matches(':')
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &str) -> Result<TracingConfiguration, String> {
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n";
        TracingConfiguration::parse(format!("{head}{fields}").as_bytes())
    }

    #[test]
    fn configurations_are_kubernetes() {
        let of = |fields: &str| parse(fields).map(|parsed| (parsed.uri, parsed.sampled_per_million)).unwrap();
        assert_eq!(of(""), ("http://localhost:4317".to_owned(), 0));
        assert_eq!(
            of("endpoint: collector:4317\nsamplingRatePerMillion: 1000000"),
            ("http://collector:4317".to_owned(), 1_000_000)
        );
        assert_eq!(of("endpoint: dns:///collector:1").0, "http://collector:1");
        assert_eq!(of("endpoint: unix:///run/otlp.sock").0, "unix:///run/otlp.sock");
        for (fields, reason) in [
            ("samplingRatePerMillion: -1", "must be positive"),
            ("samplingRatePerMillion: 1000001", "less than or equal to one million"),
            ("samplingRatePerMillion: many", "strict decoding error"),
            ("endpoint: https://collector:4317", "unsupported scheme: https.  Options are none"),
            ("endpoint: unix-abstract://a", "abstract sockets"),
            ("endpoint: dns://server/collector:4317", "no host and port"),
            ("sampling: 1", "unknown field"),
            ("kind: TracingConfiguration", "strict decoding error"),
        ] {
            let refused = parse(fields).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        let other = TracingConfiguration::parse(b"apiVersion: v1\nkind: TracingConfiguration");
        assert!(other.unwrap_err().contains("is registered for version \"v1\""));
    }
}
