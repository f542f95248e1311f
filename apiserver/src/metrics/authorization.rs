//! Metrics of authorizers, of webhooks among them, and of the file that configures them.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/metrics` and `…/cel`, `…/plugin/pkg/authorizer/webhook/metrics`.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};
use registry_core::metrics::{Families, MetricsError, ReloadMetrics};

use super::names;

/// The metrics of a server's authorizers.
#[derive(Clone)]
pub struct AuthorizationMetrics {
    decisions: IntCounterVec,
    reloads: ReloadMetrics,
    evaluations: IntCounterVec,
    durations: HistogramVec,
    fail_open: IntCounterVec,
    condition_errors: IntCounterVec,
    condition_exclusions: IntCounterVec,
    condition_durations: HistogramVec,
}

/// The decisions of one authorizer.
#[derive(Clone)]
pub(crate) struct DecisionMetrics {
    pub(crate) allowed: IntCounter,
    pub(crate) denied: IntCounter,
}

/// The metrics of one webhook.
#[derive(Clone)]
pub(crate) struct AuthorizationWebhookMetrics {
    name: String,
    all: AuthorizationMetrics,
    condition_errors: IntCounter,
    condition_exclusions: IntCounter,
    condition_durations: Histogram,
}

/// The end of a call of a webhook, as the label of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallResult {
    Success,
    Timeout,
    Error,
}

// === impl AuthorizationMetrics ===

impl AuthorizationMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            decisions: families.counter(&names::AUTHORIZATION_DECISIONS)?,
            reloads: ReloadMetrics::new(
                families,
                [
                    &names::AUTHORIZATION_RELOADS,
                    &names::AUTHORIZATION_RELOAD_TIME,
                    &names::AUTHORIZATION_CONFIG_INFO,
                ],
            )?,
            evaluations: families.counter(&names::AUTHORIZATION_WEBHOOK_EVALUATIONS)?,
            durations: families.histogram(&names::AUTHORIZATION_WEBHOOK_DURATION)?,
            fail_open: families.counter(&names::AUTHORIZATION_WEBHOOK_FAIL_OPEN)?,
            condition_errors: families.counter(&names::AUTHORIZATION_CONDITION_ERRORS)?,
            condition_exclusions: families.counter(&names::AUTHORIZATION_CONDITION_EXCLUSIONS)?,
            condition_durations: families.histogram(&names::AUTHORIZATION_CONDITION_DURATION)?,
        })
    }

    /// Returns the metrics of an authorizer's decisions.
    pub(crate) fn decisions_of(&self, kind: &str, name: &str) -> DecisionMetrics {
        let counter = |decision| self.decisions.with_label_values(&[kind, name, decision]);
        DecisionMetrics { allowed: counter("allowed"), denied: counter("denied") }
    }

    /// Returns the metrics of a webhook.
    pub(crate) fn webhook(&self, name: &str) -> AuthorizationWebhookMetrics {
        let labels = ["Webhook", name];
        AuthorizationWebhookMetrics {
            name: name.to_owned(),
            condition_errors: self.condition_errors.with_label_values(&labels),
            condition_exclusions: self.condition_exclusions.with_label_values(&labels),
            condition_durations: self.condition_durations.with_label_values(&labels),
            all: self.clone(),
        }
    }

    /// Returns the metrics of the configuration file.
    pub(crate) fn reloads(&self) -> &ReloadMetrics {
        &self.reloads
    }
}

// === impl AuthorizationWebhookMetrics ===

impl AuthorizationWebhookMetrics {
    /// Counts a call of the webhook.
    pub(crate) fn called(&self, result: CallResult, time: Duration) {
        let labels = [self.name.as_str(), result.as_str()];
        self.all.evaluations.with_label_values(&labels).inc();
        self.all.durations.with_label_values(&labels).observe(time.as_secs_f64());
    }

    /// Counts a request about which other authorizers are asked, because this one gave no answer.
    pub(crate) fn failed_open(&self, result: CallResult) {
        self.all.fail_open.with_label_values(&[&self.name, result.as_str()]).inc();
    }

    /// Counts an evaluation of match conditions, which hold, exclude the request, or fail.
    pub(crate) fn evaluated_conditions(&self, time: Duration, outcome: Result<bool, ()>) {
        self.condition_durations.observe(time.as_secs_f64());
        match outcome {
            Ok(true) => {}
            Ok(false) => self.condition_exclusions.inc(),
            Err(()) => self.condition_errors.inc(),
        }
    }
}

// === impl CallResult ===

impl CallResult {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }
}
