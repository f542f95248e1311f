//! Metrics of admission policies.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/validating/metrics` and `…/mutating/metrics`.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};
use registry_core::metrics::{Families, MetricsError};

use super::names;

/// Metrics of admission policies. Policies and bindings are counted by name; only administrators write them.
#[derive(Clone)]
pub struct PolicyMetrics {
    validations: IntCounterVec,
    validation_durations: HistogramVec,
    mutations: IntCounterVec,
    mutation_durations: HistogramVec,
}

/// The consequence for a write that a validating policy does not admit, or could not evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// The policy could not be evaluated, which it ignores.
    Allow,
    /// The write was refused.
    Deny,
    /// The client was warned.
    Warn,
    /// The write was annotated in the audit log.
    Audit,
}

/// Returns the type of an error of a policy; `None` stands for no error. Kubernetes too recognises it by its text.
fn error_type(error: Option<&str>) -> &'static str {
    match error {
        None => "no_error",
        Some(text) if text.starts_with("compilation") => "compile_error",
        Some(text) if text.starts_with("validation failed due to running out of cost budget") => {
            "out_of_budget"
        }
        Some(_) => "invalid_error",
    }
}

// === impl Enforcement ===

impl Enforcement {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Audit => "audit",
        }
    }
}

// === impl PolicyMetrics ===

impl PolicyMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            validations: families.counter(&names::VALIDATING_POLICY_CHECKS)?,
            validation_durations: families.histogram(&names::VALIDATING_POLICY_DURATION)?,
            mutations: families.counter(&names::MUTATING_POLICY_CHECKS)?,
            mutation_durations: families.histogram(&names::MUTATING_POLICY_DURATION)?,
        })
    }

    /// Counts a validation that did not admit a write, or could not be evaluated.
    pub fn validated(
        &self,
        (policy, binding): (&str, &str),
        error: Option<&str>,
        enforcement: Enforcement,
        time: Duration,
    ) {
        let labels = [policy, binding, error_type(error), enforcement.as_str()];
        self.validations.with_label_values(&labels).inc();
        self.validation_durations.with_label_values(&labels).observe(time.as_secs_f64());
    }

    /// Counts a mutation.
    pub fn mutated(&self, (policy, binding): (&str, &str), error: Option<&str>, time: Duration) {
        let labels = [policy, binding, error_type(error)];
        self.mutations.with_label_values(&labels).inc();
        self.mutation_durations.with_label_values(&labels).observe(time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_kubernetes_types() {
        for (error, expected) in [
            (None, "no_error"),
            (Some("compilation error: x"), "compile_error"),
            (Some("validation failed due to running out of cost budget, no further …"), "out_of_budget"),
            (Some("expression 'a' resulted in error: no such key: b"), "invalid_error"),
        ] {
            assert_eq!(error_type(error), expected);
        }
    }
}
