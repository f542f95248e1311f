//! Errors that keep authentication from being set up.

use super::TokenFileError;

/// Error of a file or flag that authentication needs. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// The token file cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// A certificate cannot be an authority.
    #[error("cannot set up TLS: {0}")]
    Authority(#[from] rustls::Error),
    /// The client certificate authorities cannot be used.
    #[error("cannot verify client certificates: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    /// The flags or their files are not valid.
    #[error("{0}")]
    Configuration(String),
}
