//! Metrics of authorizers, of webhooks among them, and of the file that configures them.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/metrics` and `…/cel`, `…/plugin/pkg/authorizer/webhook/metrics`.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError};
use ring::digest::{SHA256, digest};

use super::names;

/// The metrics of a server's authorizers.
#[derive(Clone)]
pub struct AuthorizationMetrics {
    decisions: IntCounterVec,
    reloads: IntCounterVec,
    reload_times: IntGaugeVec,
    configuration: IntGaugeVec,
    server_id_hash: Arc<str>,
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
            reloads: families.counter(&names::AUTHORIZATION_RELOADS)?,
            reload_times: families.gauge(&names::AUTHORIZATION_RELOAD_TIME)?,
            configuration: families.gauge(&names::AUTHORIZATION_CONFIG_INFO)?,
            server_id_hash: families.server_id_hash(),
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

    /// Notes the content of the configuration in force.
    pub(crate) fn configured(&self, content: &[u8]) {
        self.configuration.reset();
        self.configuration.with_label_values(&[&*self.server_id_hash, &hash(content)]).set(1);
    }

    /// Counts a reading of a changed configuration.
    pub(crate) fn reloaded(&self, is_success: bool) {
        let labels = [if is_success { "success" } else { "failure" }, &*self.server_id_hash];
        self.reloads.with_label_values(&labels).inc();
        self.reload_times.with_label_values(&labels).set(now_seconds());
    }
}

/// Returns the time as metrics have it.
pub(crate) fn now_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

/// Returns a hash as labels have it.
pub(crate) fn hash(content: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "sha256:".to_owned();
    for byte in digest(&SHA256, content).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
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
