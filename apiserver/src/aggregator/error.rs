//! Requests to extension servers without a response.

use clients::{ServiceError, SettingsError, request_failed};
use hyper_util::client::legacy;

/// Error of a request to an extension server that has no response. Retryable.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("no endpoints available for service {0:?}")]
    NoEndpoints(String),
    #[error("the user's attribute {0:?} cannot be sent in a header")]
    UserAttribute(String),
    #[error("the key {0:?} of the user cannot be sent in a header")]
    UserKey(String),
    /// The authorities of the server cannot be used.
    #[error(transparent)]
    Authorities(#[from] SettingsError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error("{}", request_failed(.0))]
    Call(#[from] legacy::Error),
    /// The body of the response broke off, or is too large.
    #[error(transparent)]
    Body(Box<dyn std::error::Error + Send + Sync>),
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    NoAnswer,
    /// The response to a request for discovery has not begun in time.
    #[error("context deadline exceeded")]
    NoDiscovery,
}
