//! Errors of authorization that cannot be set up.

use std::io;
use std::path::PathBuf;

use clients::SettingsError;

use super::abac::PolicyFileError;
use super::chain::OpenPathError;
use super::configuration::ConfigurationError;

/// Error of authorization that cannot be set up as the flags and their files say. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationError {
    /// The file of `--authorization-config` cannot be read.
    #[error("--authorization-config: {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file of `--authorization-config` is not valid.
    #[error("--authorization-config: {}: {source}", .path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// The field, and the reason.
        source: ConfigurationError,
    },
    /// The file of `--authorization-policy-file` cannot be used.
    #[error(transparent)]
    Policies(#[from] PolicyFileError),
    /// A configured authorizer cannot be created.
    #[error(transparent)]
    Members(#[from] MembersError),
    /// A mode needs a flag.
    #[error("{mode} needs {flag}")]
    MissingFlag {
        /// The mode.
        mode: &'static str,
        /// The flag.
        flag: &'static str,
    },
    /// The flag names another version.
    #[error("--authorization-webhook-version must be v1 or v1beta1")]
    WebhookVersion,
    /// The main server cannot be asked.
    #[error("--authorization-kubeconfig: {0}")]
    MainServer(#[from] SettingsError),
    /// A path of the flag is not a path.
    #[error("--authorization-always-allow-paths: {0}")]
    OpenPath(#[from] OpenPathError),
}

/// Error of a configured authorizer that cannot be created. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum MembersError {
    #[error("authorizer type {0} is not allowed if it was not enabled at initial server startup")]
    NotEnabled(&'static str),
    #[error("a webhook needs settings")]
    NoSettings,
    #[error(transparent)]
    Client(#[from] SettingsError),
}
