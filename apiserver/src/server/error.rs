//! Errors that keep a server from starting or serving.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use certificates::text;
use clients::{EgressError, SettingsError};
use registry_core::api::{GroupResource, GroupVersion};
use registry_core::metrics::MetricsError;
use registry_core::registry::storage_map::MapConflict;
use registry_core::storage::StorageError;
#[cfg(feature = "etcd3")]
use registry_core::storage::etcd3::ConnectError;

use super::authentication_config::NAME as AUTHENTICATION_CONFIG;
use super::data_directory::DataDirectoryError;
use crate::admission::manifests::ManifestsError;
use crate::api_server::ApiServerError;
use crate::audit::AuditError;
use crate::authentication::{AuthenticationError, ExternalSignerError};
use crate::authorization::AuthorizationError;
use crate::encryption::EncryptionError;
use crate::options::{ManifestError, OptionsError, RuntimeConfigError, TracingError};
use crate::pki::PkiError;
use crate::storage::EngineError;

/// The schema of an author's struct is wrong.
#[derive(Debug, thiserror::Error)]
#[error("the schema of {kind} ({version}, {declared_at}) is wrong:\n  {}", .faults.join("\n  "))]
pub struct WrongSchema {
    pub(super) kind: &'static str,
    pub(super) version: GroupVersion,
    /// The place of the declaration.
    pub(super) declared_at: &'static str,
    /// The fields, and what is wrong with each.
    pub(super) faults: Vec<String>,
}

/// Error that keeps a server from starting, or ends it.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Flags contradict each other. Not retryable.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// `--runtime-config` names an API that the server does not have. Not retryable.
    #[error("--runtime-config: {0}")]
    RuntimeConfig(#[from] RuntimeConfigError),
    /// The file of `--allow-metric-labels-manifest` cannot be used. Not retryable.
    #[error("--allow-metric-labels-manifest: {0}")]
    MetricLabels(#[from] ManifestError),
    /// Two storage maps use the same path, name or keys. Not retryable.
    #[error(transparent)]
    Maps(#[from] MapConflict),
    /// The schema of an author's struct is wrong. Not retryable.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Definitions(Vec<WrongSchema>),
    /// The data directory is in use or cannot be written. Retryable as [`DataDirectoryError`] says.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The engine under the storage cannot be opened. Retryable as [`EngineError`] says.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A resource's store cannot be opened. Retryable when the engine is remote.
    #[error("cannot open the storage: {0}")]
    Storage(#[from] StorageError),
    /// The author gave a backend for a resource that no storage map has. Not retryable.
    #[error("there is a backend for {0}, but no storage map of this server has that resource")]
    UnservedBackend(GroupResource),
    /// The author gave a backend for a resource, and the flags give it an etcd. Not retryable.
    #[cfg(feature = "embedded")]
    #[error("a backend of this program keeps the objects of {0}: --etcd-servers-overrides must not name it")]
    OverriddenBackend(GroupResource),
    /// A kubeconfig that a flag, or the file of a flag, names cannot be used. Not retryable.
    #[error("{place}: {source}")]
    Kubeconfig {
        /// The flag, and the field of its file.
        place: &'static str,
        /// The reason.
        source: SettingsError,
    },
    /// An object in a directory of manifests cannot be enforced. Not retryable.
    #[error("--admission-control-config-file: {plugin}: staticManifestsDir: {source}")]
    Manifests {
        /// The plug-in.
        plugin: &'static str,
        /// The reason.
        source: Box<ManifestsError>,
    },
    /// A plug-in with a directory of manifests is not in force. Not retryable.
    #[error(
        "--admission-control-config-file: {0}: staticManifestsDir would not be enforced, because the plug-in or its API is not \
         enabled: see --runtime-config and --feature-gates, or remove staticManifestsDir"
    )]
    UnservedManifests(&'static str),
    /// Keys or certificates cannot be read, created or used. Not retryable.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// TLS cannot be set up with the given certificates. Not retryable.
    #[error("cannot set up TLS: {}", text(.0))]
    Tls(#[from] rustls::Error),
    /// Authentication cannot be set up as the flags and their files say. Not retryable.
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
    /// The program that signs tokens cannot be used. Retryable if it does not answer.
    #[error(transparent)]
    ExternalSigner(#[from] ExternalSignerError),
    /// The main server does not say how it authenticates. Retryable.
    #[error(
        "cannot read the ConfigMap {map} of the main server: {0} (see --authentication-tolerate-lookup-failure)",
        map = AUTHENTICATION_CONFIG
    )]
    MainServerAuthentication(#[source] ApiServerError),
    /// Authorization cannot be set up as the flags and their files say. Not retryable.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
    /// The audit policy or an audit backend cannot be used. Not retryable.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The encryption configuration cannot be used. Not retryable.
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    /// The tracing configuration cannot be used. Not retryable.
    #[error(transparent)]
    Tracing(#[from] TracingError),
    /// The configuration of egress cannot be used. Not retryable.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The address cannot be bound. Retryable once it is free.
    #[error("cannot listen on {address}: {source}{}", advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file or directory cannot be written. Not retryable.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The command that a server runs beside cannot be run. Not retryable.
    #[error("cannot run {name:?}: {source}")]
    Command {
        /// The program.
        name: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Two metrics have the same name. Not retryable.
    #[error("cannot set up metrics: {0}")]
    Metrics(#[from] MetricsError),
    /// The server did not become ready in time. Retryable.
    #[error("the server is not ready: {0}")]
    NotReady(String),
    /// The runtime or its signal handlers cannot be set up. Not retryable.
    #[error("cannot set up the process: {0}")]
    Process(#[source] std::io::Error),
}

// === impl ServerError ===

impl ServerError {
    /// Returns the file that the error is about, if its text does not say which file it is.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Pki(error) => error.file(),
            #[cfg(feature = "etcd3")]
            Self::Engine(EngineError::Etcd3(
                ConnectError::File { path, .. } | ConnectError::NoSection { path, .. },
            )) => Some(path),
            Self::Write { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Returns what an operator can do about an address that cannot be bound.
fn advice(failure: &std::io::Error) -> &'static str {
    match failure.kind() {
        ErrorKind::AddrInUse => {
            "; stop what listens there, or choose another port: --secure-port=0 takes a free one"
        }
        ErrorKind::PermissionDenied => "; choose a port from 1024 on (--secure-port)",
        ErrorKind::AddrNotAvailable => "; --bind-address must be an address of this machine",
        _ => "",
    }
}
