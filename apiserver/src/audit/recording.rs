//! The recording of one request, from its reception until its response is sent or dropped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use http::header::USER_AGENT;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Uri};
use jiff::{SignedDuration, Timestamp};
use registry_core::api::{Reason, StatusError};
use registry_core::context::{AuditRecord, UserInfo};
use registry_core::go_duration;
use request_info::RequestInfo;
use responses::{Delivery, Response};

use crate::access::Decision;
use crate::authorization::impersonation::Impersonated;

use super::backends::{Backends, EventDelivery};
use super::event::{Event, RequestFacts};
use super::policy::{Stage, Verdict};
use super::source;

/// Requests that take longer have annotations of their latency.
const SLOW: Duration = Duration::from_millis(500);

/// Maximum length of a recorded user agent, in bytes, and what follows a longer one.
const MAX_USER_AGENT_BYTES: usize = 1024;
const TRUNCATED_SUFFIX: &str = "...TRUNCATED";

/// The properties of a request that are known before its user.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// Its URI.
    uri: &'a Uri,
    /// Its headers.
    headers: &'a HeaderMap,
    /// Its resource and verb.
    pub(super) info: &'a RequestInfo,
    /// Its id.
    audit_id: &'a HeaderValue,
    /// The time of its reception.
    received: Instant,
    /// The client's address.
    peer: Option<SocketAddr>,
}

/// The recording of a request. Its last event is created when it is dropped, if it was not before.
pub(crate) struct Recording {
    backends: Arc<Backends>,
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

// === impl Origin ===

impl<'a> Origin<'a> {
    /// Returns what is known of this request.
    pub(crate) fn new(
        request: &'a Request<Body>,
        info: &'a RequestInfo,
        audit_id: &'a HeaderValue,
        received: Instant,
        peer: Option<SocketAddr>,
    ) -> Self {
        Self { uri: request.uri(), headers: request.headers(), info, audit_id, received, peer }
    }

    /// Returns its path and query.
    pub(super) fn uri(&self) -> &'a str {
        self.uri.path_and_query().map_or("", PathAndQuery::as_str)
    }

    /// Returns the properties of this request of a user that every event has.
    fn facts(&self, user: &UserInfo, verdict: Verdict) -> RequestFacts {
        let elapsed = SignedDuration::try_from(self.received.elapsed()).unwrap_or_default();
        let now = Timestamp::now();
        RequestFacts {
            level: verdict.level,
            omits_managed_fields: verdict.omits_managed_fields,
            audit_id: self.audit_id.to_str().unwrap_or_default().to_owned(),
            request_uri: self.uri().to_owned(),
            verb: self.info.verb.as_str(),
            user: user.clone(),
            source_ips: source::addresses(self.headers, self.peer),
            user_agent: user_agent(self.headers),
            object_ref: self.info.resource.clone(),
            received: now.checked_sub(elapsed).unwrap_or(now),
        }
    }
}

fn user_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    match agent.get(..MAX_USER_AGENT_BYTES) {
        Some(start) if agent.len() > MAX_USER_AGENT_BYTES => {
            String::from_utf8_lossy(start).into_owned() + TRUNCATED_SUFFIX
        }
        _ => String::from_utf8_lossy(agent).into_owned(),
    }
}

// === impl Recording ===

impl Recording {
    /// Begins the recording of a request of this user, whose last event is that of the stage `last`.
    pub(super) fn new(
        backends: Arc<Backends>,
        verdict: Verdict,
        origin: Origin<'_>,
        user: &UserInfo,
        last: Stage,
    ) -> Self {
        let record = AuditRecord::new(verdict.level, verdict.omits_managed_fields);
        let record = record.limited(backends.recorded_bytes().clone());
        Self {
            backends,
            record: Arc::new(record),
            verdict,
            facts: Arc::new(origin.facts(user, verdict)),
            impersonated: None,
            impersonation_constraint: None,
            received: origin.received,
            answered: None,
            is_long_running: origin.info.is_long_running(),
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
        let waits = !is_read || !self.verdict.records(self.last) || self.backends.is_strict();
        let delivery = self.backends.submit(self.event(Stage::RequestReceived), waits);
        if waits {
            return self.backends.outcome(delivery).await;
        }
        self.received_event = delivery;
        true
    }

    /// Creates the event of a stage, unless the policy omits it, and waits for its delivery and that of the first one.
    async fn process(&mut self, stage: Stage) {
        let delivery = if self.verdict.records(stage) {
            self.backends.submit(self.event(stage), true)
        } else {
            EventDelivery::default()
        };
        self.backends.outcome(std::mem::take(&mut self.received_event)).await;
        self.backends.outcome(delivery).await;
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
            self.backends.process_later(self.event(self.last));
        }
    }
}
