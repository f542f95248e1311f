//! Plug-ins follow their directories.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::followed_file::Followed;
use crate::metrics::{ManifestMetrics, PluginManifestMetrics};

use super::error::ManifestsError;
use super::{ManifestDirectory, ManifestFiles, ManifestPlugin, Manifests};

/// Time between two looks at a directory.
const PERIOD: Duration = Duration::from_secs(1);

/// Enforces the objects of a directory in the place of those before.
type Enforce = Arc<dyn Fn(&Manifests) + Send + Sync>;

/// The tasks that follow directories.
pub(crate) type FollowTasks = Vec<BoxFuture<'static, ()>>;

/// Applies changes of a directory.
struct Reload {
    plugin: ManifestPlugin,
    files: Followed<ManifestFiles>,
    enforce: Enforce,
    /// The hash of the files in force.
    hash: String,
    metrics: PluginManifestMetrics,
}

/// Error of a changed directory.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Manifests(#[from] ManifestsError),
    /// The reader of the objects has panicked.
    #[error(transparent)]
    Ended(#[from] tokio::task::JoinError),
}

// === impl ManifestDirectory ===

impl ManifestDirectory {
    /// Enforces the objects of the directory now, and later those that it will have, for as long as the task runs.
    pub(in crate::admission) fn follow(
        self,
        metrics: &ManifestMetrics,
        enforce: impl Fn(&Manifests) + Send + Sync + 'static,
    ) -> BoxFuture<'static, ()> {
        enforce(&self.manifests);
        let metrics = metrics.for_plugin(self.plugin.name());
        metrics.reloaded(true);
        let hash = self.files.hash();
        metrics.configured(None, &hash);
        let reload = Reload {
            plugin: self.plugin,
            files: Followed::read_by(&self.path, self.files, PERIOD, ManifestFiles::read),
            enforce: Arc::new(enforce),
            hash,
            metrics,
        };
        Box::pin(reload.run())
    }
}

// === impl Reload ===

impl Reload {
    async fn run(mut self) {
        loop {
            let applied = match self.files.changed().await {
                Ok(files) => self.apply(files).await,
                Err(error) => Err(ManifestsError::Unreadable(error).into()),
            };
            let plugin = self.plugin.name();
            match applied {
                Ok(false) => {}
                Ok(true) => {
                    let directory = self.files.path().display();
                    tracing::info!("{plugin} enforces the changed manifests in {directory}");
                    self.metrics.reloaded(true);
                }
                Err(error) => {
                    tracing::error!("{plugin} goes on with the manifests that it has: {error}");
                    self.metrics.reloaded(false);
                }
            }
        }
    }

    /// Enforces the objects in files. Returns whether they are others than before.
    async fn apply(&mut self, files: ManifestFiles) -> Result<bool, ReloadError> {
        let (plugin, enforce, before) = (self.plugin, self.enforce.clone(), self.hash.clone());
        // Not on the threads that serve connections: many expressions take long to compile.
        let read = tokio::task::spawn_blocking(move || {
            let hash = files.hash();
            if hash != before {
                enforce(&Manifests::from_files(plugin, &files)?);
            }
            Ok::<_, ManifestsError>(hash)
        });
        let hash = read.await??;
        if hash == self.hash {
            return Ok(false);
        }
        self.metrics.configured(Some(&self.hash), &hash);
        self.hash = hash;
        Ok(true)
    }
}
