//! The auditor: a policy, and the backends that receive the events.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use clients::egress::Route;
use futures::future::join_all;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use jiff::{SignedDuration, Timestamp};
use registry_core::context::{AuditLevel, RecordedBytes, UserInfo};
use request_info::RequestInfo;
use responses::{self, Response};

use crate::access::Attributes;
use crate::metrics::AuditMetrics;
use crate::options::{AuditLogOptions, AuditOptions, AuditWebhookOptions};

use super::event::{Event, RequestFacts};
use super::log::{DirectLog, LogBackend};
use super::policy::{Policy, Stage, Verdict};
use super::recording::Recording;
use super::sink::{Faults, Sink, Ticket};
use super::webhook::WebhookBackend;
use super::{AuditError, source};

/// Maximum length of a recorded user agent, in bytes, and what follows a longer one.
const MAX_USER_AGENT_BYTES: usize = 1024;
const TRUNCATED_SUFFIX: &str = "...TRUNCATED";
/// Maximum number of events that wait for a backend in blocking modes, where requests wait too.
const BLOCKING_QUEUE: usize = 10_000;
/// Maximum memory of the recorded objects of all requests whose last events are not written yet. Clients that leave their
/// responses unread hold them.
const MAX_RECORDED_BYTES: usize = 128 << 20;
/// Maximum number of requests to the webhook at once.
const WEBHOOK_CONCURRENCY: usize = 16;

/// Audits requests.
pub(crate) struct Auditor {
    policy: Policy,
    destinations: Vec<Destination>,
    metrics: AuditMetrics,
    /// The memory that is left for the objects of all events that are not written yet.
    recorded_bytes: RecordedBytes,
}

/// The properties of a request that are known before its user.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// Its URI.
    pub(crate) uri: &'a Uri,
    /// Its headers.
    pub(crate) headers: &'a HeaderMap,
    /// Its resource and verb.
    pub(crate) info: &'a RequestInfo,
    /// Its id.
    pub(crate) audit_id: &'a HeaderValue,
    /// When it was received.
    pub(crate) received: Instant,
    /// The client's address.
    pub(crate) peer: Option<SocketAddr>,
}

/// Where events go.
enum Destination {
    /// A queue in front of a backend.
    Queue(Sink),
    /// The log, written by the requests.
    Direct(DirectLog),
}

/// The delivery of an event to each backend.
#[derive(Default)]
pub(super) struct EventDelivery(Vec<Option<Ticket>>);

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
}

// === impl Auditor ===

impl Auditor {
    /// Creates the auditor of this policy and these options, with this way to the webhook; `None` if there is no policy or no
    /// backend. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Fails if a backend cannot be used.
    pub(crate) fn start(
        policy: Option<Policy>,
        options: &AuditOptions,
        metrics: &AuditMetrics,
        route: &Route,
    ) -> Result<Option<Arc<Self>>, AuditError> {
        let Some(policy) = policy else {
            if options.log.audit_log_path.is_some() || options.webhook.audit_webhook_config_file.is_some() {
                tracing::warn!(
                    "no audit policy file provided (--audit-policy-file), no events will be recorded"
                );
            }
            return Ok(None);
        };
        let destinations = [log(&options.log, metrics)?, webhook(&options.webhook, metrics, route)?];
        let destinations: Vec<Destination> = destinations.into_iter().flatten().collect();
        if destinations.is_empty() {
            tracing::warn!(
                "neither --audit-log-path nor --audit-webhook-config-file is given, no events will be recorded"
            );
            return Ok(None);
        }
        let recorded_bytes = RecordedBytes::new(MAX_RECORDED_BYTES);
        Ok(Some(Arc::new(Self { policy, destinations, metrics: metrics.clone(), recorded_bytes })))
    }

    /// Begins to record a request of this user, if the policy says so.
    ///
    /// # Errors
    /// Returns the response to a request that must be refused because it cannot be audited.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        origin: Origin<'_>,
        user: &UserInfo,
    ) -> Result<Option<Box<Recording>>, Response> {
        let Some(mut recording) = self.record(origin, user, Stage::ResponseComplete) else { return Ok(None) };
        if recording.receive().await {
            return Ok(Some(recording));
        }
        self.metrics.rejected();
        recording.abandon();
        let uri = uri_of(origin.uri);
        let text = format!("Internal Server Error: {uri:?}: failed to store audit event\n");
        Err(responses::text(StatusCode::INTERNAL_SERVER_ERROR, text))
    }

    /// Begins to record a request that is refused before its user is known. It has a single event, when the response
    /// starts.
    pub(crate) fn begin_refused(self: &Arc<Self>, origin: Origin<'_>) -> Option<Box<Recording>> {
        self.record(origin, &UserInfo::default(), Stage::ResponseStarted)
    }

    fn record(self: &Arc<Self>, origin: Origin<'_>, user: &UserInfo, last: Stage) -> Option<Box<Recording>> {
        let verdict = self.policy.evaluate(&Attributes::from_request(user, origin.info));
        self.metrics.level(verdict.level);
        if verdict.level == AuditLevel::None {
            return None;
        }
        let facts = Arc::new(facts(origin, user, verdict));
        let is_long_running = origin.info.is_long_running();
        Some(Box::new(Recording::new(self.clone(), verdict, facts, origin.received, is_long_running, last)))
    }

    /// Hands an event over to the backends. `is_urgent` says that the request waits for it at once, and not only for a later
    /// one.
    pub(super) fn submit(&self, event: Event, is_urgent: bool) -> EventDelivery {
        self.metrics.event();
        let event = Arc::new(event);
        let tickets = self.destinations.iter().map(|destination| match destination {
            Destination::Queue(sink) => sink.submit(&event, true),
            // Lines are written in order.
            Destination::Direct(log) => log.submit(&event, is_urgent),
        });
        EventDelivery(tickets.collect())
    }

    /// Waits for the backends that requests have to wait for. Returns `false` if the request must not go on.
    pub(super) async fn outcome(&self, delivery: EventDelivery) -> bool {
        let mut goes_on = true;
        for (destination, ticket) in self.destinations.iter().zip(delivery.0) {
            goes_on &= destination.outcome(ticket).await;
        }
        goes_on
    }

    /// Returns the memory that is left for the objects of events.
    pub(super) fn recorded_bytes(&self) -> &RecordedBytes {
        &self.recorded_bytes
    }

    /// Returns whether requests are refused whose first event cannot be delivered.
    pub(super) fn is_strict(&self) -> bool {
        self.destinations.iter().any(Destination::is_strict)
    }

    /// Hands an event over to the backends; nobody waits for it.
    pub(super) fn process_later(&self, event: Event) {
        self.metrics.event();
        let event = Arc::new(event);
        for destination in &self.destinations {
            match destination {
                Destination::Queue(sink) => drop(sink.submit(&event, false)),
                Destination::Direct(log) => drop(log.submit(&event, false)),
            }
        }
    }

    /// Delivers what is queued, within bounded time. Later events are lost.
    pub(crate) async fn stop(&self) {
        join_all(self.destinations.iter().map(Destination::stop)).await;
    }
}

// === impl Destination ===

impl Destination {
    fn is_strict(&self) -> bool {
        match self {
            Self::Queue(sink) => sink.is_strict(),
            Self::Direct(log) => log.is_strict(),
        }
    }

    /// Waits for the delivery of an event. Returns `false` if the request must not go on.
    async fn outcome(&self, ticket: Option<Ticket>) -> bool {
        let Some(ticket) = ticket else { return true };
        ticket.delivered().await || !self.is_strict()
    }

    async fn stop(&self) {
        match self {
            Self::Queue(sink) => sink.stop().await,
            Self::Direct(log) => log.stop().await,
        }
    }
}

fn log(options: &AuditLogOptions, metrics: &AuditMetrics) -> Result<Option<Destination>, AuditError> {
    let Some(path) = &options.audit_log_path else { return Ok(None) };
    let faults = Faults::new(metrics.clone());
    let backend =
        LogBackend::open(path, options.retention(), options.format(), options.truncate(), faults.clone())?;
    let mode = options.mode();
    if mode != super::Mode::Batch {
        let log = DirectLog::start(backend, mode, faults).map_err(AuditError::Thread)?;
        return Ok(Some(Destination::Direct(log)));
    }
    // Lines are written together when they are ready together; to wait for more of them gains nothing.
    let sink = Sink::start(Arc::new(backend), mode, options.batch().buffer_size, None, 1, faults);
    Ok(Some(Destination::Queue(sink.map_err(AuditError::Thread)?)))
}

fn webhook(
    options: &AuditWebhookOptions,
    metrics: &AuditMetrics,
    route: &Route,
) -> Result<Option<Destination>, AuditError> {
    let Some(path) = &options.audit_webhook_config_file else { return Ok(None) };
    let faults = Faults::new(metrics.clone());
    let backoff = options.initial_backoff();
    let backend = WebhookBackend::new(path, route.clone(), backoff, options.truncate(), faults.clone())?;
    let mode = options.mode();
    let batch = options.batch();
    let buffer = if mode == super::Mode::Batch { batch.buffer_size } else { BLOCKING_QUEUE };
    let sink = Sink::start(Arc::new(backend), mode, buffer, Some(batch), WEBHOOK_CONCURRENCY, faults);
    Ok(Some(Destination::Queue(sink.map_err(AuditError::Thread)?)))
}

fn facts(origin: Origin<'_>, user: &UserInfo, verdict: Verdict) -> RequestFacts {
    let elapsed = SignedDuration::try_from(origin.received.elapsed()).unwrap_or_default();
    let now = Timestamp::now();
    RequestFacts {
        level: verdict.level,
        omits_managed_fields: verdict.omits_managed_fields,
        audit_id: origin.audit_id.to_str().unwrap_or_default().to_owned(),
        request_uri: uri_of(origin.uri).to_owned(),
        verb: origin.info.verb.as_str(),
        user: user.clone(),
        source_ips: source::addresses(origin.headers, origin.peer),
        user_agent: user_agent(origin.headers),
        object_ref: origin.info.resource.clone(),
        received: now.checked_sub(elapsed).unwrap_or(now),
    }
}

fn uri_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str)
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
