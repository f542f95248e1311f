//! Reads the configuration again when its file changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use clients::egress::Egress;
use tokio::task::JoinError;
use tokio::time::Instant;

use crate::metrics::JwtMetrics;

use super::configuration::AuthenticationConfiguration;
use super::error::ConfigurationError;
use super::keys::Algorithm;
use super::{Issuer, validation};

/// Time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(5);
/// Time in which all issuers must tell where their keys are before a new configuration takes effect.
const READY_TIMEOUT: Duration = Duration::from_mins(1);
/// Time between two looks at the issuers.
const READY_PERIOD: Duration = Duration::from_millis(100);

/// Applies changes of a configuration file.
pub(in crate::authentication) struct Reload {
    pub(in crate::authentication) path: PathBuf,
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
    /// The task that reads the file was stopped.
    #[error(transparent)]
    Stopped(#[from] JoinError),
    #[error("{0:?} does not tell where its keys are")]
    NoKeys(String),
}

// === impl Reload ===

impl Reload {
    /// Looks at the file for as long as the task runs.
    pub(in crate::authentication) async fn run(mut self) {
        let mut failure = None;
        loop {
            tokio::time::sleep(PERIOD).await;
            let outcome = self.look().await;
            match &outcome {
                Ok(true) => self.metrics.reloaded(true),
                Ok(false) => {}
                Err(_) => self.metrics.reloaded(false),
            }
            let error = outcome.err().map(|error| error.to_string());
            // Repeated failures are logged once.
            if let Some(text) = &error
                && failure != error
            {
                tracing::error!("the authentication configuration stays as it is: {text}");
            }
            failure = error;
        }
    }

    /// Returns whether a changed configuration was applied.
    async fn look(&mut self) -> Result<bool, ReloadError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || AuthenticationConfiguration::read_with_content(&path));
        let (configuration, content) = read.await??;
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
        self.metrics.configured(&content);
        tracing::info!("authenticating by the changed configuration");
        Ok(true)
    }
}
