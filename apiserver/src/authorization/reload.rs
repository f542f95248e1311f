//! Applies changes of the file of `--authorization-config` while the server runs.
//!
//! Webhooks may come, change and go. The other authorizers are created at the start: each of them must stay in the file, and
//! none may be added. A file that cannot be used changes nothing.
//!
//! Kubernetes concept: `reloadableAuthorizerResolver` of `k8s.io/kubernetes/pkg/kubeapiserver/authorizer`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::followed_file::FollowedFile;
use crate::metrics::AuthorizationMetrics;
use crate::options::AuthorizationMode;

use super::chain::AuthorizerChain;
use super::configuration::{
    self, ConfigurationError, Configured, ConfiguredAuthorizer, WrittenConfiguration,
};
use super::error::{AuthorizationError, MembersError};
use super::modes::Modes;

/// Time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(1);

/// A configuration file as it was last read.
pub(super) struct ConfigurationFile {
    path: PathBuf,
    content: Vec<u8>,
    written: WrittenConfiguration,
    /// The authorizers.
    pub(super) configured: Vec<ConfiguredAuthorizer>,
}

/// Applies changes of a configuration file.
pub(super) struct Reload {
    file: FollowedFile,
    present: WrittenConfiguration,
    /// The modes that must stay in the file.
    required: Vec<AuthorizationMode>,
    modes: Modes,
    chain: Arc<AuthorizerChain>,
    metrics: AuthorizationMetrics,
}

/// Error of a changed file that cannot be applied. Not retryable.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("missing required types: [{}]", .0.join(" "))]
    Missing(Vec<&'static str>),
    #[error(transparent)]
    Members(#[from] MembersError),
}

// === impl ConfigurationFile ===

impl ConfigurationFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if it is not valid; the text names the file and the field.
    pub(super) fn open(path: &Path) -> Result<Self, AuthorizationError> {
        let path = path.to_owned();
        let content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(source) => return Err(AuthorizationError::Unreadable { path, source }),
        };
        match configuration::parse(&content) {
            Ok((written, configured)) => Ok(Self { path, content, written, configured }),
            Err(source) => Err(AuthorizationError::Configuration { path, source }),
        }
    }
}

// === impl Reload ===

impl Reload {
    pub(super) fn new(
        file: ConfigurationFile,
        required: Vec<AuthorizationMode>,
        modes: Modes,
        chain: Arc<AuthorizerChain>,
        metrics: AuthorizationMetrics,
    ) -> Self {
        metrics.reloads().configured(&file.content);
        let present = file.written;
        let file = FollowedFile::new(&file.path, file.content, PERIOD);
        Self { file, present, required, modes, chain, metrics }
    }

    /// Looks at the file for as long as the task runs.
    pub(super) async fn run(mut self) {
        loop {
            let applied = match self.file.changed().await {
                Ok(content) => self.apply(&content),
                Err(error) => Err(error.into()),
            };
            match applied {
                Ok(false) => {}
                Ok(true) => {
                    tracing::info!("authorizing by the changed configuration");
                    self.metrics.reloads().reloaded(true);
                }
                Err(error) => {
                    let path = self.file.path().display();
                    tracing::error!("the authorization configuration stays as it is: {path}: {error}");
                    self.metrics.reloads().reloaded(false);
                }
            }
        }
    }

    /// Applies a content. Returns whether it means something else than before.
    fn apply(&mut self, content: &[u8]) -> Result<bool, ReloadError> {
        let (written, configured) = configuration::parse(content)?;
        if written == self.present {
            return Ok(false);
        }
        let present = Configured::modes(&configured);
        let missing: Vec<&'static str> = self
            .required
            .iter()
            .filter(|mode| !present.contains(mode))
            .map(|mode| Configured::Mode(*mode).name())
            .collect();
        if !missing.is_empty() {
            return Err(ReloadError::Missing(missing));
        }
        let members = self.modes.members(configured, &self.metrics)?;
        self.chain.replace(members);
        self.present = written;
        self.metrics.reloads().configured(content);
        Ok(true)
    }
}
