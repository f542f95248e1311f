//! Metrics of the rules of single kinds.
//!
//! Kubernetes concept: `k8s.io/pod-security-admission/metrics`, `pkg/registry/certificates/certificates/storage`.

use prometheus::{IntCounter, IntCounterVec};
use registry_core::metrics::{Definition, Families, MetricsError};

const POD_SECURITY_EVALUATIONS: Definition = Definition::new(
    "pod_security_evaluations_total",
    "Number of policy evaluations that occurred, not counting ignored or exempt requests.",
    &["decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource"],
);

const POD_SECURITY_EXEMPTIONS: Definition = Definition::new(
    "pod_security_exemptions_total",
    "Number of exempt requests, not counting ignored or out of scope requests.",
    &["request_operation", "resource", "subresource"],
);

const POD_SECURITY_ERRORS: Definition = Definition::new(
    "pod_security_errors_total",
    "Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used for evaluation.",
    &["fatal", "request_operation", "resource", "subresource"],
);

const REQUESTED_DURATIONS: Definition = Definition::new(
    "apiserver_certificates_registry_csr_requested_duration_total",
    "Total number of issued CSRs with a requested duration, sliced by signer (only kubernetes.io signer names are specifically identified)",
    &["signerName"],
);

const HONORED_DURATIONS: Definition = Definition::new(
    "apiserver_certificates_registry_csr_honored_duration_total",
    "Total number of issued CSRs with a requested duration that was honored, sliced by signer (only kubernetes.io signer names are specifically identified)",
    &["signerName"],
);

/// The metrics of the rules of single kinds. The default records nothing.
#[derive(Clone, Default)]
pub struct ResourceMetrics(Option<Counters>);

#[derive(Clone)]
struct Counters {
    evaluations: IntCounterVec,
    exemptions: IntCounterVec,
    errors: IntCounterVec,
    requested_durations: IntCounterVec,
    honored_durations: IntCounterVec,
}

/// A request that `PodSecurity` decides about, as labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodSecurityRequest {
    /// `create` or `update`.
    pub(crate) operation: &'static str,
    /// `pod`, or `controller` for what has a template of pods.
    pub(crate) resource: &'static str,
    /// The subresource; may be empty.
    pub(crate) subresource: &'static str,
}

/// An evaluation of a level, as labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluation<'a> {
    /// Whether the level allows the pod.
    pub(crate) is_allowed: bool,
    /// The level.
    pub(crate) level: &'a str,
    /// The version of the level.
    pub(crate) version: &'a str,
    /// `enforce`, `audit` or `warn`.
    pub(crate) mode: &'static str,
}

// === impl ResourceMetrics ===

impl ResourceMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// Fails if a name is registered already: a server has one set.
    pub fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let counters = Counters {
            evaluations: families.counter(&POD_SECURITY_EVALUATIONS)?,
            exemptions: families.counter(&POD_SECURITY_EXEMPTIONS)?,
            errors: families.counter(&POD_SECURITY_ERRORS)?,
            requested_durations: families.counter(&REQUESTED_DURATIONS)?,
            honored_durations: families.counter(&HONORED_DURATIONS)?,
        };
        // Those that are 0 from the start in Kubernetes.
        for operation in ["create", "update"] {
            let pod = ["allow", "privileged", "latest", "enforce", operation, "pod", ""];
            counters.evaluations.with_label_values(&pod);
            for resource in ["pod", "controller"] {
                counters.exemptions.with_label_values(&[operation, resource, ""]);
            }
        }
        Ok(Self(Some(counters)))
    }

    /// Counts an evaluation by `PodSecurity`.
    pub(crate) fn evaluated(&self, evaluation: Evaluation<'_>, request: PodSecurityRequest) {
        let Some(counters) = &self.0 else { return };
        let Evaluation { is_allowed, level, version, mode } = evaluation;
        let decision = if is_allowed { "allow" } else { "deny" };
        let PodSecurityRequest { operation, resource, subresource } = request;
        let labels = [decision, level, version, mode, operation, resource, subresource];
        counters.evaluations.with_label_values(&labels).inc();
    }

    /// Counts a request that `PodSecurity` does not evaluate because it is exempt.
    pub(crate) fn exempted(&self, request: PodSecurityRequest) {
        let Some(counters) = &self.0 else { return };
        let labels = [request.operation, request.resource, request.subresource];
        counters.exemptions.with_label_values(&labels).inc();
    }

    /// Counts a request that `PodSecurity` cannot evaluate (`is_fatal`), or not by the policy of its namespace.
    pub(crate) fn failed(&self, is_fatal: bool, request: PodSecurityRequest) {
        let Some(counters) = &self.0 else { return };
        let fatal = if is_fatal { "true" } else { "false" };
        let labels = [fatal, request.operation, request.resource, request.subresource];
        counters.errors.with_label_values(&labels).inc();
    }

    /// Counts a certificate that was issued for a request with a duration; `is_honored` if the certificate has that
    /// duration.
    pub(crate) fn issued(&self, signer: &str, is_honored: bool) {
        let Some(counters) = &self.0 else { return };
        let signer = if signer.starts_with("kubernetes.io/") { signer } else { "other" };
        let count = |family: &IntCounterVec| -> IntCounter { family.with_label_values(&[signer]) };
        count(&counters.requested_durations).inc();
        if is_honored {
            count(&counters.honored_durations).inc();
        }
    }
}
