//! Errors that keep authentication from being set up.

use clients::SettingsError;

use super::TokenFileError;
use super::oidc::ConfigurationError;
use super::request_header::HeaderNamesError;
use super::trust::AuthorityError;
use super::webhook::TokenWebhookError;

/// Error of a file or flag that authentication needs. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// The token file cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The authorities of clients or of front proxies cannot be used.
    #[error(transparent)]
    Authorities(#[from] AuthorityError),
    /// Issuers of tokens are not configured as they have to be.
    #[error(transparent)]
    Issuers(#[from] ConfigurationError),
    /// A flag names a header that cannot be.
    #[error(transparent)]
    FrontProxies(#[from] HeaderNamesError),
    /// The token webhook cannot be called.
    #[error(transparent)]
    TokenWebhook(#[from] TokenWebhookError),
    /// The main server cannot be asked about tokens.
    #[error(transparent)]
    MainServer(#[from] SettingsError),
    /// A flag and a file say who needs no credentials.
    #[error(
        "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication \
         configuration file"
    )]
    AnonymousTwice,
}
