//! The recording of one request, from its reception until its response is sent or dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use registry_core::api::{Reason, StatusError};
use registry_core::context::{AuditRecord, UserInfo};
use registry_core::go_duration;
use responses::{Delivery, Response};

use crate::access::Decision;
use crate::authorization::impersonation::Impersonated;

use super::auditor::{Auditor, EventDelivery};
use super::event::{Event, RequestFacts};
use super::policy::{Stage, Verdict};

/// Requests that take longer have annotations of their latency.
const SLOW: Duration = Duration::from_millis(500);

/// The recording of a request. Its last event is created when it is dropped, if it was not before.
pub(crate) struct Recording {
    auditor: Arc<Auditor>,
    verdict: Verdict,
    facts: Arc<RequestFacts>,
    record: Arc<AuditRecord>,
    impersonated: Option<Arc<UserInfo>>,
    impersonation_constraint: Option<Arc<str>>,
    received: Instant,
    answered: Option<Instant>,
    is_long_running: bool,
    code: Option<u16>,
    last: Stage,
    is_done: bool,
    /// The delivery of the first event, if the request did not wait for it.
    received_event: EventDelivery,
}

// === impl Recording ===

impl Recording {
    /// Begins a recording, whose last event is that of the stage `last`.
    pub(super) fn new(
        auditor: Arc<Auditor>,
        verdict: Verdict,
        facts: Arc<RequestFacts>,
        received: Instant,
        is_long_running: bool,
        last: Stage,
    ) -> Self {
        let record = AuditRecord::new(verdict.level, verdict.omits_managed_fields);
        let record = record.limited(auditor.recorded_bytes().clone());
        Self {
            auditor,
            record: Arc::new(record),
            verdict,
            facts,
            impersonated: None,
            impersonation_constraint: None,
            received,
            answered: None,
            is_long_running,
            code: None,
            last,
            is_done: false,
            received_event: EventDelivery::default(),
        }
    }

    /// Returns where handlers and plug-ins record.
    pub(crate) fn record(&self) -> &Arc<AuditRecord> {
        &self.record
    }

    /// Records the user on whose behalf the request is made.
    pub(crate) fn impersonate(&mut self, other: &Impersonated) {
        self.impersonated = Some(Arc::new(other.user.clone()));
        self.impersonation_constraint = other.constraint.as_deref().map(Arc::from);
    }

    /// Records the decision of the authorizer.
    pub(crate) fn decide(&self, decision: &Decision) {
        let (outcome, reason) = match decision {
            Decision::Allow { reason } => ("allow", reason),
            Decision::Deny { reason, .. } | Decision::NoOpinion { reason, .. } => ("forbid", reason),
        };
        self.record.annotate("authorization.k8s.io/decision", outcome);
        self.record.annotate("authorization.k8s.io/reason", reason.clone());
    }

    /// Records a failure as the response.
    pub(crate) fn fail(&self, failure: &StatusError) {
        self.record.fail(failure);
    }

    /// Ends the recording without a further event.
    pub(super) fn abandon(&mut self) {
        self.is_done = true;
    }

    /// Creates the first event, unless the policy omits it. Returns `false` if the request must not go on.
    ///
    /// A write takes effect only after its first event was delivered. That of a read is only handed over if the response waits
    /// for a later one, and unless requests are refused whose event is not delivered.
    pub(super) async fn receive(&mut self) -> bool {
        if !self.verdict.records(Stage::RequestReceived) {
            return true;
        }
        let is_read = matches!(self.facts.verb, "get" | "list" | "watch");
        let waits = !is_read || !self.verdict.records(self.last) || self.auditor.is_strict();
        let delivery = self.auditor.submit(self.event(Stage::RequestReceived), waits);
        if waits {
            return self.auditor.outcome(delivery).await;
        }
        self.received_event = delivery;
        true
    }

    /// Creates the event of a stage, unless the policy omits it, and waits for its delivery and that of the first one.
    async fn process(&mut self, stage: Stage) {
        let delivery = if self.verdict.records(stage) {
            self.auditor.submit(self.event(stage), true)
        } else {
            EventDelivery::default()
        };
        self.auditor.outcome(std::mem::take(&mut self.received_event)).await;
        self.auditor.outcome(delivery).await;
    }

    /// Records the panic of a request.
    pub(crate) async fn panic(mut self: Box<Self>, failure: &StatusError) {
        self.fail(failure);
        self.code = Some(failure.code);
        self.is_done = true;
        self.process(Stage::Panic).await;
    }

    /// Records a response, now or when it has been sent.
    pub(crate) async fn finish(mut self: Box<Self>, mut response: Response) -> Response {
        self.code = Some(response.status().as_u16());
        self.answered = Some(Instant::now());
        if self.last != Stage::ResponseComplete {
            self.is_done = true;
            self.process(self.last).await;
            return response;
        }
        if self.is_long_running {
            self.process(Stage::ResponseStarted).await;
        }
        let is_upgraded = matches!(response.body().delivery(), Delivery::Upgraded(_));
        if response.body().is_small() && !is_upgraded {
            self.is_done = true;
            self.annotate_latency();
            self.process(Stage::ResponseComplete).await;
            return response;
        }
        response.body_mut().keep_until_end(self);
        response
    }

    fn event(&self, stage: Stage) -> Event {
        let is_last = stage == self.last || stage == Stage::Panic;
        let stage_time = match stage {
            Stage::RequestReceived => self.facts.received,
            _ => Timestamp::now(),
        };
        Event {
            facts: self.facts.clone(),
            stage,
            stage_time,
            impersonated: self.impersonated.clone(),
            impersonation_constraint: self.impersonation_constraint.clone(),
            recorded: if is_last { self.record.take() } else { self.record.read(Clone::clone) },
            code: self.code,
        }
    }

    fn annotate_latency(&self) {
        let total = self.received.elapsed();
        if self.is_long_running || total <= SLOW {
            return;
        }
        let sending = self.answered.map(|answered| answered.elapsed()).unwrap_or_default();
        for (layer, latency) in [("response-write", sending), ("total", total)] {
            let key = format!("apiserver.latency.k8s.io/{layer}");
            self.record.annotate(key, go_duration::format(latency));
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        if self.code.is_none() {
            // The client left: whether the request takes effect is not known.
            let failure = StatusError::new(Reason::Timeout, "Connection closed early");
            self.fail(&failure);
            self.code = Some(failure.code);
        }
        self.annotate_latency();
        if self.verdict.records(self.last) {
            self.auditor.process_later(self.event(self.last));
        }
    }
}
