//! Metrics of the transformation of values at rest.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::families::Families;
use super::names;
use super::reloads::ReloadMetrics;
use super::text::MetricsError;

/// The metrics of the transformation of values at rest. The default records nothing.
#[derive(Clone, Default)]
pub struct TransformMetrics(Option<Counters>);

#[derive(Clone)]
struct Counters {
    operations: IntCounterVec,
    seconds: HistogramVec,
    calls: IntCounterVec,
    reloads: ReloadMetrics,
}

// === impl TransformMetrics ===

impl TransformMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self(Some(Counters {
            operations: families.counter(&names::TRANSFORMATIONS)?,
            seconds: families.histogram(&names::TRANSFORMATION_DURATION)?,
            calls: families.counter(&names::KMS_CALLS)?,
            reloads: ReloadMetrics::new(
                families,
                [&names::ENCRYPTION_RELOADS, &names::ENCRYPTION_RELOAD_TIME, &names::ENCRYPTION_CONFIG_INFO],
            )?,
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

    /// Returns the metrics of the encryption configuration; `None` if nothing is recorded.
    pub fn reloads(&self) -> Option<&ReloadMetrics> {
        self.0.as_ref().map(|counters| &counters.reloads)
    }

    /// Returns the number of transformations.
    pub fn count(&self, resource: &str, direction: &str, prefix: &str, is_ok: bool) -> u64 {
        let status = if is_ok { "OK" } else { "unknown-non-grpc" };
        self.0.as_ref().map_or(0, |counters| {
            counters.operations.with_label_values(&[resource, direction, prefix, status]).get()
        })
    }
}
