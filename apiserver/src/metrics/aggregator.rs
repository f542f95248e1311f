//! Metrics of APIServices.

use prometheus::{IntCounterVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError};

use super::names;

/// The metrics of APIServices.
#[derive(Clone)]
pub struct AggregatorMetrics {
    unavailable: IntGaugeVec,
    failures: IntCounterVec,
}

// === impl AggregatorMetrics ===

impl AggregatorMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            unavailable: families.gauge(&names::UNAVAILABLE_API_SERVICES)?,
            failures: families.counter(&names::UNAVAILABLE_API_SERVICES_TOTAL)?,
        })
    }

    /// Counts an APIService that was available and no longer is, for this reason.
    pub fn became_unavailable(&self, name: &str, reason: &str) {
        self.failures.with_label_values(&[name, reason]).inc();
    }

    /// Sets which APIServices are available.
    pub fn set_all(&self, services: &[(String, bool)]) {
        self.unavailable.reset();
        for (name, is_available) in services {
            self.unavailable.with_label_values(&[name]).set((!*is_available).into());
        }
    }
}
