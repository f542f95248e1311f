//! `/metrics/slis`: the health checks as metrics, from which service levels are computed.
//!
//! Kubernetes concept: `k8s.io/component-base/metrics/prometheus/slis`.

use prometheus::{IntCounterVec, IntGaugeVec};
use registry_core::api::StatusError;
use registry_core::metrics::{Described, Families, MetricsError};
use responses::Response;

use crate::health::{Endpoint, Health};

use super::{names, page};

/// The health checks as metrics, on a page of their own.
pub struct HealthMetrics {
    families: Families,
    check: IntGaugeVec,
    checks: IntCounterVec,
}

// === impl HealthMetrics ===

impl HealthMetrics {
    pub(super) fn new() -> Result<Self, MetricsError> {
        let mut families = Families::default();
        let check = families.gauge(&names::HEALTH_CHECK)?;
        let checks = families.counter(&names::HEALTH_CHECKS)?;
        Ok(Self { families, check, checks })
    }

    pub(super) fn described(&self) -> Vec<Described> {
        self.families.described()
    }

    /// Responds to a request of `/metrics/slis`: runs all checks, and reports the results.
    pub async fn respond(&self, health: &Health) -> Result<Response, StatusError> {
        for endpoint in Endpoint::ALL {
            for (name, passes) in health.results(*endpoint).await {
                self.check.with_label_values(&[name, endpoint.name()]).set(i64::from(passes));
                let status = if passes { "success" } else { "error" };
                self.checks.with_label_values(&[name, endpoint.name(), status]).inc();
            }
        }
        page(&self.families.gather())
    }
}
