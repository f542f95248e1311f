//! Metrics of the transformation of values at rest.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::families::{Families, MetricsError};
use super::names;

/// The metrics of the transformation of values at rest. The default records nothing.
#[derive(Clone, Default)]
pub struct TransformMetrics(Option<Counters>);

#[derive(Clone)]
struct Counters {
    operations: IntCounterVec,
    seconds: HistogramVec,
    calls: IntCounterVec,
    reloads: IntCounterVec,
    reload_times: IntGaugeVec,
    configuration: IntGaugeVec,
    server_id_hash: Arc<str>,
}

// === impl TransformMetrics ===

impl TransformMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self(Some(Counters {
            operations: families.counter(&names::TRANSFORMATIONS)?,
            seconds: families.histogram(&names::TRANSFORMATION_DURATION)?,
            calls: families.counter(&names::KMS_CALLS)?,
            reloads: families.counter(&names::ENCRYPTION_RELOADS)?,
            reload_times: families.gauge(&names::ENCRYPTION_RELOAD_TIME)?,
            configuration: families.gauge(&names::ENCRYPTION_CONFIG_INFO)?,
            server_id_hash: families.server_id_hash(),
        })))
    }

    /// Counts a transformation: `from_storage` or `to_storage`, by the transformer with this prefix.
    pub fn transformed(&self, resource: &str, direction: &str, prefix: &str, elapsed: Duration, is_ok: bool) {
        let Some(counters) = &self.0 else { return };
        let status = if is_ok { "OK" } else { "unknown-non-grpc" };
        counters.operations.with_label_values(&[resource, direction, prefix, status]).inc();
        if is_ok {
            counters.seconds.with_label_values(&[direction, prefix]).observe(elapsed.as_secs_f64());
        }
    }

    /// Counts a call of a key management service.
    pub fn called(&self, method: &str, is_ok: bool) {
        let Some(counters) = &self.0 else { return };
        let status = if is_ok { "success" } else { "failure" };
        counters.calls.with_label_values(&[method, status]).inc();
    }

    /// Counts a reload of the encryption configuration at this time, in seconds since 1970.
    pub fn reloaded(&self, is_ok: bool, now_seconds: i64) {
        let Some(counters) = &self.0 else { return };
        let labels = [if is_ok { "success" } else { "failure" }, &*counters.server_id_hash];
        counters.reloads.with_label_values(&labels).inc();
        counters.reload_times.with_label_values(&labels).set(now_seconds);
    }

    /// Notes the hash of the encryption configuration in force.
    pub fn configured(&self, hash: &str) {
        let Some(counters) = &self.0 else { return };
        counters.configuration.reset();
        counters.configuration.with_label_values(&[&*counters.server_id_hash, hash]).set(1);
    }

    /// Returns the number of transformations.
    pub fn count(&self, resource: &str, direction: &str, prefix: &str, is_ok: bool) -> u64 {
        let status = if is_ok { "OK" } else { "unknown-non-grpc" };
        self.0.as_ref().map_or(0, |counters| {
            counters.operations.with_label_values(&[resource, direction, prefix, status]).get()
        })
    }
}
