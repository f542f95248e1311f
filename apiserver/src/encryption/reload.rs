//! Reads the configuration again when its file has changed.
//!
//! A configuration that is not valid, or whose key management services are not healthy, is not used: the server continues
//! with the one before it.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/options/encryptionconfig/controller`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::followed_file::FollowedFile;

use super::EncryptionError;
use super::current::Current;
use super::file::{self, FileError};
use super::services::Services;
use super::transformers::Transformers;

/// Interval between looks at the file.
const INTERVAL: Duration = Duration::from_secs(10);

/// Applies changes of a configuration file.
pub(super) struct Reload {
    file: FollowedFile,
    current: Arc<Current>,
    services: Services,
}

/// Error of a changed configuration that cannot be used. Retryable if a service does not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    #[error(transparent)]
    Configuration(#[from] EncryptionError),
    /// Key management services fail, with these texts.
    #[error("{}", .0.join(", "))]
    Unhealthy(Vec<String>),
}

// === impl Reload ===

impl Reload {
    pub(super) fn new(path: &Path, content: Vec<u8>, current: Arc<Current>, services: Services) -> Self {
        Self { file: FollowedFile::new(path, content, INTERVAL), current, services }
    }

    /// Looks at the file for as long as the task runs.
    pub(super) async fn run(mut self) {
        loop {
            let applied = match self.file.changed().await {
                Ok(content) => self.apply(content).await,
                Err(error) => {
                    Err(EncryptionError::from(FileError::unreadable(self.file.path(), error)).into())
                }
            };
            if let Some(reloads) = self.services.metrics.reloads() {
                reloads.reloaded(applied.is_ok());
            }
            match applied {
                Ok(()) => tracing::info!("loaded the changed encryption configuration"),
                Err(error) => {
                    // As in Kubernetes. A service may be healthy then.
                    self.file.look_again();
                    let path = self.file.path().display();
                    tracing::error!("error processing encryption config file {path}: {error}");
                }
            }
        }
    }

    /// Uses a configuration from now on.
    ///
    /// # Errors
    /// Fails with a reason if it cannot be used.
    pub(super) async fn apply(&self, content: Vec<u8>) -> Result<(), ReloadError> {
        let loaded = file::from_content(self.file.path(), content).map_err(EncryptionError::from)?;
        let transformers =
            Transformers::new(&loaded.configuration, &self.services).map_err(EncryptionError::from)?;
        let failures = transformers.check().await;
        if !failures.is_empty() {
            let failures = failures.into_iter().map(|(_, failure)| failure.to_string());
            return Err(ReloadError::Unhealthy(failures.collect()));
        }
        self.current.replace(transformers);
        if let Some(reloads) = self.services.metrics.reloads() {
            reloads.configured(&loaded.content);
        }
        Ok(())
    }
}
