//! Adds optional parts to filters.

use std::sync::Arc;

use flowcontrol::FlowControl;
use registry_core::context::ClusterPolicy;
use resources::bootstrap::PendingVersions;

use crate::audit::Auditor;
use crate::faults::Faults;
use crate::health::Health;
use crate::options::HttpOptions;
use crate::telemetry::Sampler;
use crate::zpages::Zpages;

use super::browser::Browser;
use super::{Dispatch, Draining, Filters};

impl<D: Dispatch> Filters<D> {
    /// Shares the server between requests by priority and fairness.
    #[must_use]
    pub(crate) fn with_flow_control(mut self, control: Option<Arc<FlowControl>>) -> Self {
        self.in_flight.control = control;
        self
    }

    /// Answers requests for the health of the server by these checks.
    #[must_use]
    pub(crate) fn with_health(self, health: Health) -> Self {
        Self { health, ..self }
    }

    /// Audits requests by this auditor.
    #[must_use]
    pub(crate) fn with_auditor(self, auditor: Option<Arc<Auditor>>) -> Self {
        Self { auditor, ..self }
    }

    /// Refuses requests while those in flight are completed.
    #[must_use]
    pub(crate) fn with_draining(self, draining: Option<Arc<Draining>>) -> Self {
        Self { draining, ..self }
    }

    /// Refuses writes of these resources until the server has said how it stores them.
    #[must_use]
    pub(crate) fn with_pending_versions(self, pending_versions: Option<Arc<PendingVersions>>) -> Self {
        Self { pending_versions, ..self }
    }

    /// Traces the requests that this sampler selects.
    #[must_use]
    pub(crate) fn with_sampler(self, sampler: Option<Sampler>) -> Self {
        Self { sampler, ..self }
    }

    /// Lets requests fail by these rules.
    #[must_use]
    pub(crate) fn with_faults(self, faults: Option<Arc<Faults>>) -> Self {
        Self { faults, ..self }
    }

    /// Serves these pages about the server.
    #[must_use]
    pub(crate) fn with_zpages(self, zpages: Zpages) -> Self {
        Self { zpages, ..self }
    }

    /// Ends HTTP/2 connections after a request of a client that is not authenticated, or leaves them open.
    #[must_use]
    pub(crate) fn ending_unauthenticated(self, ends_unauthenticated: bool) -> Self {
        Self { ends_unauthenticated, ..self }
    }

    /// Adds the headers for browsers.
    #[must_use]
    pub fn with_http(self, options: &HttpOptions) -> Self {
        Self { browser: Browser::new(options), ..self }
    }

    /// Applies this policy of the cluster.
    #[must_use]
    pub fn with_policy(self, policy: ClusterPolicy) -> Self {
        Self { policy, ..self }
    }
}
