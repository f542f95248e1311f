//! Metrics of audit events.

use prometheus::{IntCounter, IntCounterVec};
use registry_core::context::AuditLevel;
use registry_core::metrics::{Families, MetricsError};

use super::names;

/// The metrics of audit events.
#[derive(Clone)]
pub struct AuditMetrics {
    events: IntCounter,
    levels: [IntCounter; AuditLevel::ALL.len()],
    errors: IntCounterVec,
    rejected: IntCounter,
}

// === impl AuditMetrics ===

impl AuditMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let levels = families.counter(&names::AUDIT_LEVELS)?;
        Ok(Self {
            events: families.counter(&names::AUDIT_EVENTS)?.with_label_values::<&str>(&[]),
            levels: AuditLevel::ALL.map(|level| levels.with_label_values(&[level.as_str()])),
            errors: families.counter(&names::AUDIT_ERRORS)?,
            rejected: families.counter(&names::AUDIT_REJECTED)?.with_label_values::<&str>(&[]),
        })
    }

    /// Counts a request by its level.
    pub fn level(&self, level: AuditLevel) {
        let mut counters = AuditLevel::ALL.into_iter().zip(&self.levels);
        if let Some((_, counter)) = counters.find(|(known, _)| *known == level) {
            counter.inc();
        }
    }

    /// Counts an event.
    pub fn event(&self) {
        self.events.inc();
    }

    /// Counts events that a plug-in lost.
    pub fn failed(&self, plugin: &'static str, events: usize) {
        self.errors.with_label_values(&[plugin]).inc_by(events as u64);
    }

    /// Counts a request that was refused because it cannot be audited.
    pub fn rejected(&self) {
        self.rejected.inc();
    }

    /// Returns the number of events that a plug-in lost.
    pub fn errors(&self, plugin: &str) -> u64 {
        self.errors.with_label_values(&[plugin]).get()
    }
}
