//! Metrics of requests that other servers of the cluster serve.

use prometheus::IntCounterVec;
use registry_core::metrics::{Families, MetricsError};

use super::names;

/// The metrics of requests that other servers of the cluster serve.
#[derive(Clone)]
pub struct PeerMetrics {
    rerouted: IntCounterVec,
    errors: IntCounterVec,
    discovery_errors: IntCounterVec,
}

// === impl PeerMetrics ===

impl PeerMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            rerouted: families.counter(&names::REROUTED_REQUESTS)?,
            errors: families.counter(&names::PEER_PROXY_ERRORS)?,
            discovery_errors: families.counter(&names::PEER_DISCOVERY_ERRORS)?,
        })
    }

    /// Counts a request that another server has answered with this code, by group, version and resource. They are empty for
    /// requests for discovery.
    pub fn rerouted(&self, code: u16, [group, version, resource]: [&str; 3]) {
        self.rerouted.with_label_values(&[&code.to_string(), group, version, resource]).inc();
    }

    /// Counts a request that was not sent to another server, by the type of the error.
    pub fn failed(&self, error: &str, [group, version, resource]: [&str; 3]) {
        self.errors.with_label_values(&[error, group, version, resource]).inc();
    }

    /// Counts a failure to learn what another server serves, by the type of the error.
    pub fn discovery_failed(&self, error: &str) {
        self.discovery_errors.with_label_values(&[error]).inc();
    }
}
