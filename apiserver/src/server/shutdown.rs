//! The order of events when a server stops.
//!
//! ```text
//! signal ─ /readyz fails ─ delay ─┬─ watches end, requests in flight are completed ─┬─ connections end
//!                                 └─ the listener is closed, or                    ─┘
//!                                    answers 429 until all of these have ended
//! ```
//!
//! Kubernetes concept: the lifecycle signals of `k8s.io/apiserver/pkg/server`.

use std::sync::Arc;
use std::time::Duration;

use super::Lifecycle;
use crate::filters::Draining;
use crate::options::Options;

/// Time for connections to end once all requests over them are completed.
const CONNECTIONS_END: Duration = Duration::from_secs(2);

/// The shutdown of a server.
pub(super) struct Shutdown {
    lifecycle: Lifecycle,
    delay: Duration,
    request_timeout: Duration,
    watches_grace_period: Duration,
    /// `None` if the listener is closed after the delay.
    draining: Option<Arc<Draining>>,
}

// === impl Shutdown ===

impl Shutdown {
    pub(super) fn new(options: &Options, lifecycle: Lifecycle, draining: Option<Arc<Draining>>) -> Self {
        Self {
            lifecycle,
            delay: options.shutdown.shutdown_delay_duration,
            request_timeout: options.limits.request_timeout,
            watches_grace_period: options.shutdown.shutdown_watch_termination_grace_period,
            draining,
        }
    }

    /// Waits for the signal, and runs the shutdown up to the end of the listener.
    pub(super) async fn run(&self) {
        self.lifecycle.shutdown.cancelled().await;
        tracing::debug!("the shutdown has begun: not ready any more");
        tokio::time::sleep(self.delay).await;
        tracing::debug!("the shutdown delay is over: completing requests");
        self.lifecycle.draining.cancel();
        if let Some(draining) = &self.draining {
            let requests = tokio::time::timeout(self.request_timeout, draining.complete());
            let (requests, ()) = tokio::join!(requests, self.watches_end());
            if requests.is_err() {
                tracing::warn!("requests in flight were not completed in time");
            }
        }
        tracing::debug!("the listener is closed");
        self.lifecycle.stopping.cancel();
    }

    /// Waits until all watches have ended, if there is time for them.
    async fn watches_end(&self) {
        self.lifecycle.watches.close();
        let ended = self.lifecycle.watches.wait();
        if tokio::time::timeout(self.watches_grace_period, ended).await.is_err() {
            tracing::debug!(watches = self.lifecycle.watches.len(), "not waiting for watches any longer");
        }
    }

    /// Returns the time for open connections to end after the listener.
    pub(super) fn patience(&self) -> Duration {
        match self.draining {
            Some(_) => CONNECTIONS_END,
            None => self.request_timeout.max(self.watches_grace_period),
        }
    }
}
