//! Options of the connection to etcd: endpoints, credentials and timeouts.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use super::errors::Failure;

/// Options of the connection to an etcd cluster.
///
/// Kubernetes concept: `storagebackend.TransportConfig`, the `--etcd-*` flags.
#[derive(Clone, Debug)]
pub struct Etcd3Options {
    /// The members' client URLs, for example `https://10.0.0.1:2379`, or all of them Unix sockets: `unix:///run/etcd.sock`.
    pub endpoints: Vec<String>,
    /// PEM file with the certificate authorities for the members' certificates.
    pub ca_file: Option<PathBuf>,
    /// PEM file with this client's certificate.
    pub cert_file: Option<PathBuf>,
    /// PEM file with the key of this client's certificate.
    pub key_file: Option<PathBuf>,
    /// Timeout of a connection attempt, in seconds.
    pub connect_timeout_seconds: u64,
    /// Timeout of a request, in seconds.
    pub request_timeout_seconds: u64,
    /// Timeout of a health check, in seconds.
    pub health_timeout_seconds: u64,
    /// Interval between compactions of old revisions; zero disables them.
    pub compaction_interval: Duration,
    /// Number of connections for requests, beside the one for watches.
    pub connections: usize,
    /// Maximum number of concurrent requests; further ones are refused.
    pub max_requests_in_flight: usize,
    /// Makes and encrypts the connections, in place of the client library.
    pub connector: Option<Arc<dyn ConnectEndpoint>>,
}

/// Makes connections to endpoints of etcd.
#[async_trait]
pub trait ConnectEndpoint: fmt::Debug + Send + Sync {
    /// Connects to an endpoint, one of [`Etcd3Options::endpoints`].
    ///
    /// # Errors
    /// Fails if there is no connection.
    async fn connect(&self, endpoint: &str) -> io::Result<Box<dyn EndpointStream>>;
}

/// A connection to etcd.
pub trait EndpointStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> EndpointStream for S {}

/// An error while connecting to etcd.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No endpoint was given. Not retryable.
    #[error("no etcd endpoint is given (--etcd-servers)")]
    NoEndpoints,
    /// Only one of certificate and key was given. Not retryable.
    #[error("an etcd client certificate needs its key, and a key its certificate")]
    HalfAKeyPair,
    /// Some endpoints are Unix sockets and others not, or a socket is to use TLS. Not retryable.
    #[error("unix:// endpoints of etcd cannot be combined with others, or with the files of TLS")]
    UnsuitableSocket,
    /// A PEM file cannot be read. Not retryable.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A PEM file has no section of its kind. Not retryable.
    #[error("{path} contains no {label} (PEM)")]
    NoSection {
        /// The file.
        path: PathBuf,
        /// The end of the section's label.
        label: &'static str,
    },
    /// The client library rejects the options. Not retryable.
    #[error(
        "cannot set up the etcd client (--etcd-servers, --etcd-cafile, --etcd-certfile, --etcd-keyfile): {}",
        super::errors::with_causes(.0)
    )]
    Setup(#[source] etcd_client::Error),
    /// No member responded. Retryable.
    #[error(
        "etcd does not answer at {endpoints}: {source}; start etcd, or correct --etcd-servers and the files of its TLS"
    )]
    Unreachable {
        /// The endpoints tried.
        endpoints: String,
        /// The last failure.
        source: Unanswered,
    },
}

/// Why etcd has not answered at the start.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It said nothing.
    #[error("no answer in time")]
    Late,
    /// Calls failed; this is the last failure.
    #[error(transparent)]
    Failed(#[from] Failure),
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
            connector: None,
        }
    }
}
