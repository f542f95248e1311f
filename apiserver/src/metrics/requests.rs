//! Requests by route, verb and code; watch events.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::StatusCode;
use http_body::Body as _;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError};
use request_info::{Query, RequestInfo, Verb};
use responses::{Observer, Response};

use super::names;

/// The `component` label.
const COMPONENT: &str = "apiserver";
/// The codes whose counters are created in advance.
const CODES: [u16; 14] = [200, 201, 202, 400, 403, 404, 405, 409, 410, 415, 422, 429, 500, 504];

/// The metrics of requests. The default counts nothing.
#[derive(Clone, Default)]
pub struct RequestMetrics(Option<Arc<RequestFamilies>>);

struct RequestFamilies {
    requests: IntCounterVec,
    seconds: HistogramVec,
    sizes: HistogramVec,
    long_running: IntGaugeVec,
    terminations: IntCounterVec,
    deprecated: IntGaugeVec,
    watch_events: IntCounterVec,
    watch_event_sizes: HistogramVec,
}

/// The metrics of one route.
pub(crate) struct RouteMetrics {
    families: RequestMetrics,
    /// Group, version, resource, subresource.
    labels: [&'static str; 4],
    operations: [OnceLock<Arc<OperationMetrics>>; OPERATIONS.len()],
    watch: OnceLock<WatchMetrics>,
}

/// A verb, and its scope: an object, a namespace or the cluster.
type OperationLabels = (&'static str, &'static str);

const OPERATIONS: [OperationLabels; 13] = [
    ("GET", "resource"),
    ("LIST", "namespace"),
    ("LIST", "cluster"),
    ("WATCH", "namespace"),
    ("WATCH", "cluster"),
    ("POST", "resource"),
    ("PUT", "resource"),
    ("PATCH", "resource"),
    ("APPLY", "resource"),
    ("DELETE", "resource"),
    ("DELETECOLLECTION", "namespace"),
    ("DELETECOLLECTION", "cluster"),
    ("CONNECT", "resource"),
];

/// The metrics of one operation of a route.
struct OperationMetrics {
    families: Arc<RequestFamilies>,
    /// Verb, dry run, group, version, resource, subresource, scope, component.
    labels: [&'static str; 8],
    seconds: Histogram,
    /// Reads only.
    sizes: Option<Histogram>,
    codes: [OnceLock<IntCounter>; CODES.len()],
    /// Long-running requests only: watches and connections.
    running: Option<IntGauge>,
}

/// The metrics of the events of one resource's watches. The default counts nothing.
#[derive(Clone, Default)]
pub(crate) struct WatchMetrics(Option<(IntCounter, Histogram)>);

/// The measurement of one request.
pub(crate) struct Measure {
    begun: Instant,
    operation: Option<Arc<OperationMetrics>>,
}

/// A response that is counted when it has been sent or dropped.
struct MeasuredResponse {
    sent_bytes: u64,
    status: StatusCode,
    measure: Measure,
}

// === impl RequestMetrics ===

impl fmt::Debug for RequestMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestMetrics").field("counts", &self.0.is_some()).finish()
    }
}

impl RequestMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self(Some(Arc::new(RequestFamilies {
            requests: families.counter(&names::REQUESTS)?,
            seconds: families.histogram(&names::REQUEST_DURATION)?,
            sizes: families.histogram(&names::RESPONSE_SIZES)?,
            long_running: families.gauge(&names::LONG_RUNNING)?,
            terminations: families.counter(&names::TERMINATIONS)?,
            deprecated: families.gauge(&names::DEPRECATED_APIS)?,
            watch_events: families.counter(&names::WATCH_EVENTS)?,
            watch_event_sizes: families.histogram(&names::WATCH_EVENT_SIZES)?,
        }))))
    }

    /// Returns the metrics of a route.
    pub(crate) fn route(
        &self,
        group: &'static str,
        version: &'static str,
        resource: &'static str,
        subresource: &'static str,
    ) -> RouteMetrics {
        RouteMetrics {
            families: self.clone(),
            labels: [group, version, resource, subresource],
            operations: Default::default(),
            watch: OnceLock::new(),
        }
    }

    /// Counts a request to a path of the server itself.
    pub(crate) fn served_own(&self, path: &'static str, begun: Instant, response: Response) -> Response {
        let Some(families) = &self.0 else { return response };
        let labels = ["GET", "", "", "", "", path, "", COMPONENT];
        let operation = Some(Arc::new(OperationMetrics::new(families, labels)));
        Measure { begun, operation }.finish(response)
    }

    /// Counts a request that was refused before its resource was known: its contents cannot be used as
    /// labels.
    pub(crate) fn terminated(&self, verb: Verb, code: u16) {
        let Some(families) = &self.0 else { return };
        let labels = [verb_label(verb, false), "", "", "", "", "", COMPONENT, &code.to_string()];
        families.terminations.with_label_values(&labels).inc();
    }
}

// === impl RouteMetrics ===

impl RouteMetrics {
    /// Sets the route of a request.
    pub(crate) fn count(&self, measure: &mut Measure, info: &RequestInfo, is_apply: bool, query: Query<'_>) {
        let Some(families) = &self.families.0 else { return };
        let is_read = matches!(info.verb, Verb::Get | Verb::List | Verb::Watch);
        let is_dry_run = !is_read && query.first("dryRun").is_some_and(|value| value == "All");
        // Proxied bodies are neither read nor written here.
        let is_connection = info.verb != Verb::Watch && info.is_long_running();
        let verb = if is_connection { "CONNECT" } else { verb_label(info.verb, is_apply) };
        let scope = match verb {
            "LIST" | "WATCH" | "DELETECOLLECTION" => {
                let namespace = info.resource.as_ref().map_or("", |resource| resource.namespace.as_str());
                if namespace.is_empty() { "cluster" } else { "namespace" }
            }
            _ => "resource",
        };
        let [group, version, resource, subresource] = self.labels;
        let make = |dry_run| {
            let labels = [verb, dry_run, group, version, resource, subresource, scope, COMPONENT];
            Arc::new(OperationMetrics::new(families, labels))
        };
        let position = OPERATIONS.iter().position(|operation| *operation == (verb, scope));
        let cell = position.and_then(|at| self.operations.get(at));
        measure.operation = Some(match cell {
            Some(cell) if !is_dry_run => cell.get_or_init(|| make("")).clone(),
            _ => make(if is_dry_run { "All" } else { "" }),
        });
    }

    /// Notes a request of the route, which is deprecated; the release that no longer has it may be empty.
    pub(crate) fn deprecated(&self, removed_release: &str) {
        let Some(families) = &self.families.0 else { return };
        let [group, version, resource, subresource] = self.labels;
        let labels = [group, version, resource, subresource, removed_release];
        families.deprecated.with_label_values(&labels).set(1);
    }

    /// Returns the metrics of the events of this route's watches.
    pub(crate) fn watch(&self) -> WatchMetrics {
        let Some(families) = &self.families.0 else { return WatchMetrics::default() };
        let made = self.watch.get_or_init(|| {
            let [group, version, resource, _] = self.labels;
            let labels = [group, version, resource];
            let events = families.watch_events.with_label_values(&labels);
            WatchMetrics(Some((events, families.watch_event_sizes.with_label_values(&labels))))
        });
        made.clone()
    }
}

/// Returns the `verb` label: methods for operations on one object, else the API verb.
pub(crate) fn verb_label(verb: Verb, is_apply: bool) -> &'static str {
    match verb {
        Verb::Get | Verb::Head | Verb::Options => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create | Verb::Post => "POST",
        Verb::Update | Verb::Put => "PUT",
        Verb::Patch if is_apply => "APPLY",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
        Verb::Proxy => "CONNECT",
        Verb::Unknown => "other",
    }
}

// === impl OperationMetrics ===

impl OperationMetrics {
    fn new(families: &Arc<RequestFamilies>, labels: [&'static str; 8]) -> Self {
        let [verb, _, group, version, resource, subresource, scope, component] = labels;
        let of_request = [verb, group, version, resource, subresource, scope, component];
        let is_read = matches!(verb, "GET" | "LIST");
        Self {
            seconds: families.seconds.with_label_values(&labels),
            sizes: is_read.then(|| families.sizes.with_label_values(&of_request)),
            running: matches!(verb, "WATCH" | "CONNECT")
                .then(|| families.long_running.with_label_values(&of_request)),
            codes: Default::default(),
            families: families.clone(),
            labels,
        }
    }

    fn code(&self, status: StatusCode) -> IntCounter {
        let make = || {
            let [verb, dry_run, group, version, resource, subresource, scope, component] = self.labels;
            let labels =
                [verb, dry_run, group, version, resource, subresource, scope, component, status.as_str()];
            self.families.requests.with_label_values(&labels)
        };
        let position = CODES.iter().position(|code| *code == status.as_u16());
        match position.and_then(|at| self.codes.get(at)) {
            Some(cell) => cell.get_or_init(make).clone(),
            None => make(),
        }
    }
}

// === impl WatchMetrics ===

impl WatchMetrics {
    /// Counts an event of this size.
    #[allow(clippy::cast_precision_loss, reason = "sizes of events are far below 2^52")]
    pub(crate) fn sent(&self, bytes: usize) {
        let Some((events, sizes)) = &self.0 else { return };
        if bytes > 0 {
            events.inc();
            sizes.observe(bytes as f64);
        }
    }
}

// === impl Measure ===

impl Measure {
    /// Begins the measurement of a request that was received at this time, or now.
    pub(crate) fn begin(received: Option<Instant>) -> Self {
        Self { begun: received.unwrap_or_else(Instant::now), operation: None }
    }

    /// Counts the request, now or when the response has been sent.
    pub(crate) fn finish(self, mut response: Response) -> Response {
        let Some(operation) = &self.operation else { return response };
        let status = response.status();
        match response.body().size_hint().exact() {
            Some(bytes) if response.body().is_small() => {
                self.record(status, bytes);
                response
            }
            _ => {
                if let Some(running) = &operation.running {
                    running.inc();
                }
                response.body_mut().observe(MeasuredResponse { sent_bytes: 0, status, measure: self });
                response
            }
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "sizes of answers are far below 2^52")]
    fn record(&self, status: StatusCode, bytes: u64) {
        let Some(operation) = &self.operation else { return };
        operation.code(status).inc();
        operation.seconds.observe(self.begun.elapsed().as_secs_f64());
        if let Some(sizes) = &operation.sizes {
            sizes.observe(bytes as f64);
        }
    }
}

// === impl MeasuredResponse ===

impl Observer for MeasuredResponse {
    fn sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
    }
}

impl Drop for MeasuredResponse {
    fn drop(&mut self) {
        if let Some(running) =
            self.measure.operation.as_ref().and_then(|operation| operation.running.as_ref())
        {
            running.dec();
        }
        self.measure.record(self.status, self.sent_bytes);
    }
}
