//! Applies changes of the file of `--authorization-config` while the server runs.
//!
//! Webhooks may come, change and go. The other authorizers are created at the start: each of them must stay in the file, and
//! none may be added. A file that cannot be used changes nothing.
//!
//! Kubernetes concept: `reloadableAuthorizerResolver` of `k8s.io/kubernetes/pkg/kubeapiserver/authorizer`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::metrics::AuthorizationMetrics;
use crate::options::AuthorizationMode;

use super::chain::AuthorizerChain;
use super::configuration::{self, ConfigurationError, Configured, ConfiguredAuthorizer};
use super::error::{AuthorizationError, MembersError};
use super::setup::Modes;

/// Time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(1);

/// A configuration file as it was last read.
pub(super) struct ConfigurationFile {
    path: PathBuf,
    content: Vec<u8>,
    /// The content without what has no meaning, such as comments.
    value: Value,
    /// The authorizers.
    pub(super) configured: Vec<ConfiguredAuthorizer>,
}

/// Applies changes of a configuration file.
pub(super) struct Reload {
    file: ConfigurationFile,
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
            Ok((value, configured)) => Ok(Self { path, content, value, configured }),
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
        metrics.configured(&file.content);
        Self { file, required, modes, chain, metrics }
    }

    /// Looks at the file for as long as the task runs.
    pub(super) async fn run(mut self) {
        let mut unreadable = None;
        loop {
            tokio::time::sleep(PERIOD).await;
            let content = match tokio::fs::read(&self.file.path).await {
                Ok(content) => content,
                Err(error) => {
                    // Repeated failures are counted once.
                    if unreadable != Some(error.kind()) {
                        self.failed(&error);
                    }
                    unreadable = Some(error.kind());
                    continue;
                }
            };
            unreadable = None;
            if content == self.file.content {
                continue;
            }
            // A content that cannot be used is not looked at again.
            self.file.content = content;
            match self.apply() {
                Ok(false) => {}
                Ok(true) => {
                    tracing::info!("authorizing by the changed configuration");
                    self.metrics.reloaded(true);
                    self.metrics.configured(&self.file.content);
                }
                Err(error) => self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &dyn Display) {
        let path = self.file.path.display();
        tracing::error!("the authorization configuration stays as it is: {path}: {error}");
        self.metrics.reloaded(false);
    }

    /// Applies the content. Returns whether it means something else than before.
    fn apply(&mut self) -> Result<bool, ReloadError> {
        let (value, configured) = configuration::parse(&self.file.content)?;
        if value == self.file.value {
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
        self.file.value = value;
        Ok(true)
    }
}
