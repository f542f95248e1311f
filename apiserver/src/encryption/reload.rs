//! Reads the configuration again when its file has changed.
//!
//! A configuration that is not valid, or whose key management services are not healthy, is not used: the server continues
//! with the one before it.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/options/encryptionconfig/controller`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinError;

use crate::metrics::{hash, now_seconds};

use super::transformers::Transformers;
use super::{Encryption, EncryptionError, config};

/// Interval between looks at the file.
const INTERVAL: Duration = Duration::from_secs(10);

/// Follows changes of the file until the encryption is dropped.
pub(super) fn spawn(encryption: &Arc<Encryption>, content: Vec<u8>) {
    if encryption.reloads {
        tokio::spawn(follow(Arc::downgrade(encryption), content));
    }
}

async fn follow(encryption: Weak<Encryption>, mut content: Vec<u8>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(encryption) = encryption.upgrade() else { return };
        match encryption.reload(&content).await {
            Ok(None) => {}
            Ok(Some(changed)) => {
                content = changed;
                encryption.metrics.reloaded(true, now_seconds());
                encryption.metrics.configured(&hash(&content));
                tracing::info!("loaded the changed encryption configuration");
            }
            Err(error) => {
                encryption.metrics.reloaded(false, now_seconds());
                let path = encryption.path.display();
                tracing::error!("error processing encryption config file {path}: {error}");
            }
        }
    }
}

/// Error of a changed configuration that cannot be used. Retryable if a service does not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    #[error(transparent)]
    Configuration(#[from] EncryptionError),
    /// The task that reads the file was stopped.
    #[error(transparent)]
    Stopped(#[from] JoinError),
    /// Key management services fail, with these texts.
    #[error("{}", .0.join(", "))]
    Unhealthy(Vec<String>),
}

// === impl Encryption ===

impl Encryption {
    /// Uses the configuration if it has changed, and returns its new content.
    ///
    /// # Errors
    /// Fails with a reason if it cannot be used.
    pub(super) async fn reload(&self, content: &[u8]) -> Result<Option<Vec<u8>>, ReloadError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || config::read(&path)).await?;
        let loaded = read.map_err(EncryptionError::from)?;
        if loaded.content == content {
            return Ok(None);
        }
        let transformers = Transformers::new(&loaded, &self.metrics).map_err(EncryptionError::from)?;
        let failures = transformers.check().await;
        if !failures.is_empty() {
            return Err(ReloadError::Unhealthy(failures));
        }
        self.current.store(Arc::new(transformers));
        Ok(Some(loaded.content))
    }
}
