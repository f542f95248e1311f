//! The backends that receive the events, and the delivery of an event to each of them.

use std::sync::Arc;

use clients::egress::Route;
use futures::future::join_all;
use registry_core::context::RecordedBytes;

use crate::metrics::AuditMetrics;
use crate::options::{AuditLogOptions, AuditOptions, AuditWebhookOptions, Mode};

use super::AuditError;
use super::event::Event;
use super::log::{DirectLog, LogBackend};
use super::sink::{Faults, Sink, SinkSettings, Ticket};
use super::webhook::WebhookBackend;

/// Maximum number of events that wait for a backend in blocking modes, where requests wait too.
const BLOCKING_QUEUE: usize = 10_000;
/// Maximum memory of the recorded objects of all requests whose last events are not written yet. Clients that leave their
/// responses unread hold them.
const MAX_RECORDED_BYTES: usize = 128 << 20;
/// Maximum number of requests to the webhook at once.
const WEBHOOK_CONCURRENCY: usize = 16;

/// The backends of a server.
pub(super) struct Backends {
    destinations: Vec<Destination>,
    metrics: AuditMetrics,
    /// The memory that is left for the objects of all events that are not written yet.
    recorded_bytes: RecordedBytes,
}

/// A backend, and the way of events to it.
enum Destination {
    /// A queue in front of a backend.
    Queue(Sink),
    /// The log, written by the requests.
    Direct(DirectLog),
}

/// The delivery of an event to each backend.
#[derive(Default)]
pub(super) struct EventDelivery(Vec<Option<Ticket>>);

// === impl Backends ===

impl Backends {
    /// Starts the backends of these options, with this way to the webhook; `None` if there are none. Must be called within a
    /// Tokio runtime.
    ///
    /// # Errors
    /// Fails if a backend cannot be used.
    pub(super) fn start(
        options: &AuditOptions,
        metrics: &AuditMetrics,
        route: &Route,
    ) -> Result<Option<Self>, AuditError> {
        let destinations = [log(&options.log, metrics)?, webhook(&options.webhook, metrics, route)?];
        let destinations: Vec<Destination> = destinations.into_iter().flatten().collect();
        let recorded_bytes = RecordedBytes::new(MAX_RECORDED_BYTES);
        let backends = Self { destinations, metrics: metrics.clone(), recorded_bytes };
        Ok((!backends.destinations.is_empty()).then_some(backends))
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
    pub(super) async fn stop(&self) {
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
    if mode != Mode::Batch {
        let log = DirectLog::start(backend, mode, faults).map_err(AuditError::Thread)?;
        return Ok(Some(Destination::Direct(log)));
    }
    // Lines are written together when they are ready together; to wait for more of them gains nothing.
    let settings =
        SinkSettings { mode, buffer_size: options.batch().buffer_size, batch: None, concurrency: 1 };
    let sink = Sink::start(Arc::new(backend), settings, faults);
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
    let buffer_size = if mode == Mode::Batch { batch.buffer_size } else { BLOCKING_QUEUE };
    let settings = SinkSettings { mode, buffer_size, batch: Some(batch), concurrency: WEBHOOK_CONCURRENCY };
    let sink = Sink::start(Arc::new(backend), settings, faults);
    Ok(Some(Destination::Queue(sink.map_err(AuditError::Thread)?)))
}
