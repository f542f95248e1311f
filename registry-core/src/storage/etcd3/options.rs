//! Which etcd, how to reach it, how long to wait.

use std::path::PathBuf;
use std::time::Duration;

/// How to reach an etcd cluster.
///
/// Kubernetes concept: `storagebackend.TransportConfig`, the `--etcd-*` flags.
#[derive(Clone, Debug)]
pub struct Etcd3Options {
    /// The members' client URLs, for example `https://10.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// PEM file with the authorities that may sign the members' certificates.
    pub ca_file: Option<PathBuf>,
    /// PEM file with this client's certificate.
    pub cert_file: Option<PathBuf>,
    /// PEM file with its key.
    pub key_file: Option<PathBuf>,
    /// How long to wait for a connection, in seconds.
    pub connect_timeout_seconds: u64,
    /// How long to wait for the answer to one request, in seconds.
    pub request_timeout_seconds: u64,
    /// How long a health check may take, in seconds.
    pub health_timeout_seconds: u64,
    /// How often old revisions are forgotten; zero leaves that to others.
    pub compaction_interval: Duration,
    /// How many connections requests are spread over, beside the one for watches.
    pub connections: usize,
    /// How many requests may be under way at once; more are refused.
    pub max_requests_in_flight: usize,
}

/// etcd cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No endpoint was given. Not retryable.
    #[error("no etcd endpoint is given (--etcd-servers)")]
    NoEndpoints,
    /// Only one of certificate and key was given. Not retryable.
    #[error("an etcd client certificate needs its key, and a key its certificate")]
    HalfAKeyPair,
    /// A PEM file cannot be read. Not retryable.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The options make no sense to the client library. Not retryable.
    #[error("cannot set up the etcd client: {0}")]
    Setup(#[source] etcd_client::Error),
    /// No member answered. Retryable.
    #[error("etcd does not answer at {endpoints}: {reason}")]
    Unreachable {
        /// Where it was looked for.
        endpoints: String,
        /// The last failure.
        reason: String,
    },
}

// === impl Etcd3Options ===

impl Default for Etcd3Options {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            ca_file: None,
            cert_file: None,
            key_file: None,
            connect_timeout_seconds: 20,
            request_timeout_seconds: 30,
            health_timeout_seconds: 2,
            compaction_interval: Duration::from_mins(5),
            connections: 2,
            max_requests_in_flight: 1_024,
        }
    }
}
