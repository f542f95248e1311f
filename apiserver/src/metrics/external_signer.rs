//! Metrics of the program that signs the tokens of service accounts.
//!
//! Kubernetes concept: `pkg/serviceaccount/externaljwt/metrics`.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError, now_seconds};

use super::names;

/// The metrics of the program that signs tokens.
#[derive(Clone)]
pub struct ExternalSignerMetrics {
    fetch_times: IntGaugeVec,
    data_times: IntGaugeVec,
    fetches: IntCounterVec,
    signatures: IntCounterVec,
    durations: HistogramVec,
}

// === impl ExternalSignerMetrics ===

#[cfg_attr(not(feature = "external-signer"), expect(dead_code, reason = "no program signs tokens"))]
impl ExternalSignerMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            fetch_times: families.gauge(&names::SIGNER_FETCH_TIME)?,
            data_times: families.gauge(&names::SIGNER_DATA_TIME)?,
            fetches: families.counter(&names::SIGNER_FETCHES)?,
            signatures: families.counter(&names::SIGNER_SIGNATURES)?,
            durations: families.histogram(&names::SIGNER_DURATION)?,
        })
    }

    /// Counts an attempt to fetch the keys, which ended with this code, and notes the time of the data.
    pub(crate) fn fetched(&self, code: &str, data_seconds: Option<i64>) {
        self.fetches.with_label_values(&[code]).inc();
        if let Some(data_seconds) = data_seconds {
            self.fetch_times.with_label_values::<&str>(&[]).set(now_seconds());
            self.data_times.with_label_values::<&str>(&[]).set(data_seconds);
        }
    }

    /// Counts an attempt to sign a token, which ended with this code.
    pub(crate) fn signed(&self, code: &str) {
        self.signatures.with_label_values(&[code]).inc();
    }

    /// Notes the time of a call of a method.
    pub(crate) fn called(&self, method: &str, code: &str, time: Duration) {
        self.durations.with_label_values(&[method, code]).observe(time.as_secs_f64());
    }
}
