//! Reads the configuration again when its file changes.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use clients::egress::Egress;
use tokio::time::Instant;

use crate::followed_file::FollowedFile;
use crate::metrics::JwtMetrics;

use super::configuration::AuthenticationConfiguration;
use super::error::ConfigurationError;
use super::keys::Algorithm;
use super::{Issuer, validation};

/// Time between two looks at the file.
pub(in crate::authentication) const PERIOD: Duration = Duration::from_secs(5);
/// Time in which all issuers must tell where their keys are before a new configuration takes effect.
const READY_TIMEOUT: Duration = Duration::from_mins(1);
/// Time between two looks at the issuers.
const READY_PERIOD: Duration = Duration::from_millis(100);

/// Applies changes of a configuration file.
pub(in crate::authentication) struct Reload {
    pub(in crate::authentication) file: FollowedFile,
    pub(in crate::authentication) present: AuthenticationConfiguration,
    /// Issuers that the file must not name.
    pub(in crate::authentication) disallowed: Vec<String>,
    pub(in crate::authentication) issuers: Arc<ArcSwap<Vec<Issuer>>>,
    pub(in crate::authentication) metrics: JwtMetrics,
    /// The ways to the issuers that name a network.
    pub(in crate::authentication) egress: Egress,
}

/// Checks a configuration.
///
/// # Errors
/// Fails if it is not valid.
pub(in crate::authentication) fn check(
    configuration: &AuthenticationConfiguration,
    disallowed: &[String],
) -> Result<(), ConfigurationError> {
    validation::compile(configuration, disallowed).map(drop).map_err(ConfigurationError::Invalid)
}

/// Returns the issuers of a configuration.
///
/// # Errors
/// Fails if it is not valid, or if an issuer names a network of which `egress` says nothing.
pub(in crate::authentication) fn issuers(
    configuration: &AuthenticationConfiguration,
    disallowed: &[String],
    algorithms: &[Algorithm],
    metrics: &JwtMetrics,
    egress: &Egress,
) -> Result<Vec<Issuer>, ConfigurationError> {
    let rules = validation::compile(configuration, disallowed).map_err(ConfigurationError::Invalid)?;
    rules.into_iter().map(|rules| Issuer::new(rules, algorithms.to_vec(), metrics, egress)).collect()
}

/// Error of a changed configuration that cannot be applied. Retryable if an issuer does not answer.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("{0:?} does not tell where its keys are")]
    NoKeys(String),
}

// === impl Reload ===

impl Reload {
    /// Looks at the file for as long as the task runs.
    pub(in crate::authentication) async fn run(mut self) {
        loop {
            let applied = match self.file.changed().await {
                Ok(content) => self.apply(&content).await,
                Err(error) => Err(ConfigurationError::from(error).into()),
            };
            match applied {
                Ok(true) => self.metrics.reloads().reloaded(true),
                Ok(false) => {}
                Err(error) => {
                    let path = self.file.path().display();
                    tracing::error!("the authentication configuration stays as it is: {path}: {error}");
                    self.metrics.reloads().reloaded(false);
                    if matches!(error, ReloadError::NoKeys(_)) {
                        self.file.look_again();
                    }
                }
            }
        }
    }

    /// Applies a content. Returns whether it means something else than before.
    async fn apply(&mut self, content: &[u8]) -> Result<bool, ReloadError> {
        let configuration = AuthenticationConfiguration::parse(content)?;
        if configuration == self.present {
            return Ok(false);
        }
        if configuration.anonymous != self.present.anonymous {
            tracing::warn!("a change of who needs no credentials takes effect after a restart");
        }
        let issuers =
            issuers(&configuration, &self.disallowed, &Algorithm::ALL, &self.metrics, &self.egress)?;
        let begun = Instant::now();
        while let Some(late) = issuers.iter().find(|issuer| !issuer.is_ready()) {
            if begun.elapsed() > READY_TIMEOUT {
                return Err(ReloadError::NoKeys(late.rules.url.clone()));
            }
            tokio::time::sleep(READY_PERIOD).await;
        }
        let issuers = Arc::new(issuers);
        let former = self.issuers.swap(issuers.clone());
        let is_gone = |former: &&Issuer| !issuers.iter().any(|issuer| issuer.rules.url == former.rules.url);
        former.iter().filter(is_gone).for_each(|issuer| issuer.provider.forget_metrics());
        self.present = configuration;
        self.metrics.reloads().configured(content);
        tracing::info!("authenticating by the changed configuration");
        Ok(true)
    }
}
