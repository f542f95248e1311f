//! The reasons for which no client can be made of settings, and a service has no address.

use std::io;
use std::path::{Path, PathBuf};

use certificates::{self, KeyError, certificate_text, pem_text};
use registry_core::api::StatusError;
use registry_core::codec::DecodeError;
use rustls_pki_types::pem;

/// Error of settings that no client can be made of. Not retryable before a file changes. The texts are client-go's, where it
/// refuses the same.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum SettingsError {
    /// A kubeconfig cannot be used.
    #[error("kubeconfig {}: {source}", .path.display())]
    Kubeconfig { path: PathBuf, source: Box<Self> },
    /// An entry of a kubeconfig cannot be used.
    #[error("invalid configuration: {kind} {name:?}: {source}")]
    Entry { kind: &'static str, name: String, source: Box<Self> },
    /// The content of a field cannot be used.
    #[error("{field}: {source}")]
    Field { field: &'static str, source: Box<Self> },
    #[error("{field}-data: {source}")]
    Base64 { field: &'static str, source: base64::DecodeError },
    /// A kubeconfig cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("unable to read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Yaml(#[from] DecodeError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The task that reads the files was stopped.
    #[error(transparent)]
    Stopped(#[from] tokio::task::JoinError),

    #[error("it is not a Config of version v1")]
    OtherKind,
    #[error("invalid configuration: duplicate name {name:?} in {kind}s")]
    Duplicate { kind: &'static str, name: String },
    #[error("invalid configuration: no current-context is set")]
    NoCurrentContext,
    #[error("context was not found for specified context: {0}")]
    ContextNotFound(String),
    #[error("invalid configuration: cluster {0:?} does not exist")]
    ClusterNotFound(String),
    #[error("invalid configuration: no server found for cluster {0:?}")]
    ServerNotFound(String),
    #[error("invalid configuration: auth info {0:?} does not exist")]
    UserNotFound(String),
    #[error("proxy-url is not supported: name a server that can be reached directly")]
    ProxyUrl,
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    AuthoritiesOfInsecureServer,
    #[error(
        "{0} is not supported: give a tokenFile, which is read again when it changes, or a client certificate"
    )]
    CredentialPlugin(&'static str),
    #[error("client-certificate and client-key must be set together")]
    CertificateOrKeyAlone,
    #[error("more than one authentication method found: [token basicAuth], only one is allowed")]
    SeveralMethods,
    #[error("requesting uid, groups or user-extra without impersonating a user")]
    ImpersonatedWithoutName,
    #[error(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )]
    NotInCluster,

    #[error("unable to load root certificates: no valid certificate authority data seen")]
    NoAuthorities,
    #[error("client-certificate: {}", pem_text(.0))]
    CertificateEncoding(pem::Error),
    #[error("client-certificate: it has no certificate (PEM)")]
    NoCertificate,
    #[error("client-certificate: {}", certificate_text(.0))]
    Certificate(rustls::CertificateError),
    #[error("client-key: {0}")]
    KeyEncoding(#[source] KeyError),
    #[error("client-key: {}", certificates::text(.0))]
    Key(#[source] rustls::Error),
    #[error("{}", certificates::text(.0))]
    Tls(#[source] rustls::Error),

    #[error("the token file {} is empty", .0.display())]
    EmptyToken(PathBuf),
    #[error("the credentials have characters that no header can have")]
    CredentialsInHeader,
    #[error("{0:?} cannot be in a header")]
    HeaderValue(String),
    #[error("the key {0:?} cannot be in a header")]
    HeaderName(String),

    #[error("server {server:?}: {source}")]
    Url { server: String, source: http::uri::InvalidUri },
    #[error("server {0:?} names no host")]
    NoHost(String),
    #[error("server {0:?}: its scheme must be https or http")]
    Scheme(String),
}

/// Error of a service that has no address. Retryable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ServiceError {
    #[error("services are not served")]
    NotServed,
    #[error("service {0:?} not found")]
    NotFound(String),
    #[error(r#"cannot route to service with ClusterIP "None""#)]
    Headless,
    #[error("no service port {port} found for service {name:?}")]
    NoPort { name: String, port: u16 },
    #[error("unsupported service type {0:?}")]
    UnsupportedType(String),
    /// The service cannot be read.
    #[error(transparent)]
    Unreadable(#[from] StatusError),
}

impl SettingsError {
    /// Returns the error with the file that it is in.
    pub fn in_kubeconfig(self, path: &Path) -> Self {
        Self::Kubeconfig { path: path.to_owned(), source: Box::new(self) }
    }
}
