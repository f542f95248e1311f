//! Metrics of admission webhooks.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/metrics`.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};
use registry_core::metrics::{Families, MetricsError};

use super::{ManifestMetrics, PolicyMetrics, names};

/// The largest code that is counted by itself.
const MAX_CODE: u16 = 600;

/// Metrics of admission webhooks. Webhooks are counted by name; only administrators register them.
#[derive(Clone)]
pub struct AdmissionMetrics {
    durations: HistogramVec,
    requests: IntCounterVec,
    rejections: IntCounterVec,
    fail_open: IntCounterVec,
    condition_errors: IntCounterVec,
    condition_exclusions: IntCounterVec,
    condition_durations: HistogramVec,
    policies: PolicyMetrics,
    manifests: ManifestMetrics,
}

/// The kind of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookKind {
    /// It may change objects.
    Mutating,
    /// It only allows or refuses writes.
    Validating,
}

/// The end of a call of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The write goes on.
    Admitted,
    /// The call failed, with this code, and the write goes on.
    FailedOpen(u16),
    /// The call failed, with this code, and the write with it.
    Failed(u16),
    /// The webhook refused the write with this code.
    Refused(u16),
    /// The server could not do what the webhook asked for.
    Unusable,
}

/// A webhook, its kind and the operation.
pub type WebhookLabels<'a> = (&'a str, WebhookKind, &'static str);

// === impl WebhookKind ===

impl WebhookKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "admit",
            Self::Validating => "validating",
        }
    }
}

// === impl AdmissionMetrics ===

impl AdmissionMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            durations: families.histogram(&names::WEBHOOK_DURATION)?,
            requests: families.counter(&names::WEBHOOK_REQUESTS)?,
            rejections: families.counter(&names::WEBHOOK_REJECTIONS)?,
            fail_open: families.counter(&names::WEBHOOK_FAIL_OPEN)?,
            condition_errors: families.counter(&names::MATCH_CONDITION_ERRORS)?,
            condition_exclusions: families.counter(&names::MATCH_CONDITION_EXCLUSIONS)?,
            condition_durations: families.histogram(&names::MATCH_CONDITION_DURATION)?,
            policies: PolicyMetrics::new(families)?,
            manifests: ManifestMetrics::new(families)?,
        })
    }

    /// Counts a call of a webhook.
    pub fn called(
        &self,
        (name, kind, operation): WebhookLabels<'_>,
        time: Duration,
        outcome: WebhookOutcome,
    ) {
        let kind = kind.as_str();
        let (code, rejection) = match outcome {
            WebhookOutcome::Admitted => (200, None),
            WebhookOutcome::FailedOpen(code) => (code, None),
            WebhookOutcome::Failed(code) => (code, Some("calling_webhook_error")),
            WebhookOutcome::Refused(code) => (code, Some("no_error")),
            WebhookOutcome::Unusable => (0, Some("apiserver_internal_error")),
        };
        let code = code.min(MAX_CODE).to_string();
        let is_rejected = if rejection.is_some() { "true" } else { "false" };
        self.requests.with_label_values(&[name, kind, operation, &code, is_rejected]).inc();
        self.durations.with_label_values(&[name, kind, operation, is_rejected]).observe(time.as_secs_f64());
        if let Some(error) = rejection {
            self.rejections.with_label_values(&[name, kind, operation, error, &code]).inc();
        }
        if matches!(outcome, WebhookOutcome::FailedOpen(_)) {
            self.fail_open.with_label_values(&[name, kind]).inc();
        }
    }

    /// Returns the metrics of directories with manifests.
    pub fn manifests(&self) -> &ManifestMetrics {
        &self.manifests
    }

    /// Returns the metrics of policies.
    pub fn policies(&self) -> &PolicyMetrics {
        &self.policies
    }

    /// Counts an evaluation of match conditions, of a webhook or a policy (`owner`).
    pub fn evaluated_conditions(
        &self,
        owner: &'static str,
        (name, kind, operation): WebhookLabels<'_>,
        time: Duration,
        is_excluded: bool,
        has_failed: bool,
    ) {
        // Kubernetes names both kinds as the plug-ins' interfaces here.
        let kind = if kind == WebhookKind::Mutating { "admit" } else { "validate" };
        let labels = [name, owner, kind, operation];
        self.condition_durations.with_label_values(&labels).observe(time.as_secs_f64());
        if is_excluded {
            self.condition_exclusions.with_label_values(&labels).inc();
        }
        if has_failed {
            self.condition_errors.with_label_values(&labels).inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_by_its_outcome() {
        let metrics = AdmissionMetrics::new(&mut Families::default()).unwrap();
        let labels = ("w", WebhookKind::Mutating, "CREATE");
        metrics.called(labels, Duration::ZERO, WebhookOutcome::Refused(65_535));
        metrics.called(labels, Duration::ZERO, WebhookOutcome::FailedOpen(503));
        let requests = |code, rejected| {
            metrics.requests.with_label_values(&["w", "admit", "CREATE", code, rejected]).get()
        };
        assert_eq!((requests("600", "true"), requests("503", "false")), (1, 1));
        let rejections =
            metrics.rejections.with_label_values(&["w", "admit", "CREATE", "no_error", "600"]).get();
        assert_eq!((rejections, metrics.fail_open.with_label_values(&["w", "admit"]).get()), (1, 1));
    }
}
