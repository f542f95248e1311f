//! Reads and validates a configuration file.

use std::path::Path;

use registry_core::api::validation::ErrorList;
use registry_core::codec::configuration::DecodingError;

use super::config::{self, EncryptionConfiguration};
use super::validation::validate;

/// Error of a configuration that cannot be used. Not retryable before the file changes. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(
        "error while loading file: error reading encryption provider configuration file {path:?}: {source}"
    )]
    Unreadable { path: String, source: std::io::Error },
    #[error("error while loading file: encryption provider configuration file {0:?} is empty")]
    Empty(String),
    #[error("error decoding encryption provider configuration file {path:?}: {source}")]
    Undecodable { path: String, source: DecodingError },
    #[error("{0}")]
    Invalid(ErrorList),
}

/// A configuration that is valid.
#[derive(Debug)]
pub(super) struct LoadedConfiguration {
    /// The configuration.
    pub(super) configuration: EncryptionConfiguration,
    /// The bytes of the file, to recognize changes.
    pub(super) content: Vec<u8>,
}

// === impl FileError ===

impl FileError {
    /// The error of a file that cannot be read.
    pub(super) fn unreadable(path: &Path, source: std::io::Error) -> Self {
        Self::Unreadable { path: path.display().to_string(), source }
    }
}

/// Reads and validates a file.
///
/// # Errors
/// Fails with Kubernetes' message.
pub(super) fn read(path: &Path) -> Result<LoadedConfiguration, FileError> {
    let content = std::fs::read(path).map_err(|source| FileError::unreadable(path, source))?;
    from_content(path, content)
}

/// Validates the content of a file.
///
/// # Errors
/// Fails with Kubernetes' message.
pub(super) fn from_content(path: &Path, content: Vec<u8>) -> Result<LoadedConfiguration, FileError> {
    let shown = || path.display().to_string();
    if content.is_empty() {
        return Err(FileError::Empty(shown()));
    }
    let configuration =
        config::parse(&content).map_err(|source| FileError::Undecodable { path: shown(), source })?;
    let errors = validate(&configuration);
    if !errors.is_empty() {
        return Err(FileError::Invalid(errors));
    }
    Ok(LoadedConfiguration { configuration, content })
}
