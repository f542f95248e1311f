//! Tasks that run after the start of the server.
//!
//! Kubernetes concept: post-start hooks.

use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::StatusError;

/// A task that runs once after the start.
#[async_trait]
pub trait PostStartHook: Send + Sync + 'static {
    /// Returns the name, as Kubernetes' health checks have it after `poststarthook/`.
    fn name(&self) -> &'static str;

    /// Returns the time between the end of a run and the start of the next; `None` if it does not run again after
    /// success.
    fn period(&self) -> Option<Duration> {
        None
    }

    /// Whether the server is ready only when the hook has succeeded, and not as soon as it was tried. Hooks with a period are the
    /// controllers that Kubernetes starts without waiting for them: a store that takes no writes must not keep a server from
    /// answering reads.
    fn holds_readiness(&self) -> bool {
        self.period().is_none()
    }

    /// Runs the hook. May be called again after a failure; completed parts are kept.
    ///
    /// # Errors
    /// The store failed, or there was a concurrent change of the same objects. Retryable.
    async fn run(&self) -> Result<(), StatusError>;

    /// Withdraws what must not outlive the server. Called once when the shutdown begins, after the last run.
    ///
    /// # Errors
    /// The store failed, or there was a concurrent change of the same objects.
    async fn withdraw(&self) -> Result<(), StatusError> {
        Ok(())
    }
}
