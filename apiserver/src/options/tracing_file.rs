//! `--tracing-config-file`.
//!
//! Kubernetes concept: `TracingConfiguration` of `apiserver.config.k8s.io`.

use std::io;
use std::path::{Path, PathBuf};

use registry_core::codec::configuration::{DecodingError, decode};
use serde::Deserialize;

/// The versions of the file.
const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
const KIND: &str = "TracingConfiguration";
/// The collector on this machine, at OTLP's port.
const DEFAULT_ENDPOINT: &str = "localhost:4317";
const MILLION: u32 = 1_000_000;

/// The destination of spans, and the number of requests that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TracingConfiguration {
    /// The URI of the collector.
    pub(crate) uri: String,
    /// Number of requests of a million that are sampled, beside those whose clients decide it.
    pub(crate) sampled_per_million: u32,
}

/// Error of the tracing configuration. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the tracing configuration {path}: {source}")]
pub struct TracingError {
    pub(crate) path: PathBuf,
    pub(crate) source: TracingFault,
}

/// Error of a tracing configuration, without its file. The texts are Kubernetes', where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TracingFault {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Decoding(#[from] DecodingError),
    #[error("samplingRatePerMillion: Invalid value: {0}: sampling rate must be positive")]
    NegativeRate(i32),
    #[error(
        "samplingRatePerMillion: Invalid value: {0}: sampling rate per million must be less than or equal to one million"
    )]
    HighRate(u32),
    #[error(
        "endpoint: Invalid value: {0:?}: it is not a valid host and port: use one such as localhost:4317"
    )]
    NoHost(String),
    #[error("endpoint: Invalid value: {0:?}: abstract sockets are not supported: use unix or a port")]
    AbstractSocket(String),
    #[error(
        "endpoint: Invalid value: {endpoint:?}: unsupported scheme: {scheme}.  Options are none, dns, unix, or \
         unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md"
    )]
    Scheme { endpoint: String, scheme: String },
    /// The exporter cannot be started.
    #[cfg(feature = "tracing-export")]
    #[error(transparent)]
    Exporter(Box<dyn std::error::Error + Send + Sync>),
    #[cfg(not(feature = "tracing-export"))]
    #[error(
        "this server was built without the export of spans: build `apiserver` with the feature `tracing-export`"
    )]
    NotBuilt,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
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
        let parsed =
            std::fs::read(path).map_err(TracingFault::from).and_then(|content| Self::parse(&content));
        parsed.map_err(|source| TracingError { path: path.to_owned(), source })
    }

    fn parse(content: &[u8]) -> Result<Self, TracingFault> {
        let file: File = decode(content, KIND, &VERSIONS)?;
        Ok(Self {
            uri: uri(file.endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT))?,
            sampled_per_million: rate(file.sampling_rate_per_million.unwrap_or_default())?,
        })
    }
}

fn rate(rate: i32) -> Result<u32, TracingFault> {
    let rate = u32::try_from(rate).map_err(|_| TracingFault::NegativeRate(rate))?;
    if rate > MILLION {
        return Err(TracingFault::HighRate(rate));
    }
    Ok(rate)
}

/// Returns the URI of an endpoint, which has one of gRPC's name schemes or none.
fn uri(endpoint: &str) -> Result<String, TracingFault> {
    let (scheme, rest) = endpoint.split_once("//").unwrap_or(("dns:", endpoint));
    match scheme {
        // `dns://server/name`: the name server cannot be chosen.
        "dns:" => {
            let name = rest.strip_prefix('/').unwrap_or(rest);
            if name.is_empty() || name.contains('/') {
                return Err(TracingFault::NoHost(endpoint.to_owned()));
            }
            Ok(format!("http://{name}"))
        }
        "unix:" => Ok(format!("unix://{rest}")),
        "unix-abstract:" => Err(TracingFault::AbstractSocket(endpoint.to_owned())),
        other => {
            let scheme = other.trim_end_matches(':').to_owned();
            Err(TracingFault::Scheme { endpoint: endpoint.to_owned(), scheme })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &str) -> Result<TracingConfiguration, String> {
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n";
        TracingConfiguration::parse(format!("{head}{fields}").as_bytes()).map_err(|error| error.to_string())
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
            ("endpoint: dns://server/collector:4317", "not a valid host and port"),
            ("sampling: 1", "unknown field"),
            ("kind: TracingConfiguration", "strict decoding error"),
        ] {
            let refused = parse(fields).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        let other = TracingConfiguration::parse(b"apiVersion: v1\nkind: TracingConfiguration");
        assert!(other.unwrap_err().to_string().contains("is registered for version \"v1\""));
    }
}
