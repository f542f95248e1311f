//! The filter chain that every request and response passes through.
//!
//! Kubernetes concept: `DefaultBuildHandlerChain` in `k8s.io/apiserver/pkg/server`. The chain is one function per level
//! instead of nested services: nothing is boxed, and the order of the filters is the order of the code.
//! `docs/guide/src/contribute/request.md` has a table of the filters and their files. Beside them,
//!
//! | module | contents |
//! |---|---|
//! | `assembly` | adds optional parts to the filters |
//! | `audited` | records a request from its authentication to its response |
//! | `context` | the context in which handlers find what the filters have found |
//! | `fault_rules` | the rules by which requests fail in servers for tests |
//! | `own_paths` | the paths of the server itself: health, version, metrics |
//! | `work` | the amount of work that a request is expected to be |

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use flowcontrol::Flow;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderMap, HeaderValue, Request, Version};
use registry_core::RequestContext;
use registry_core::api::StatusError;
use registry_core::context::{ClusterPolicy, UserInfo};
use registry_core::stage;
use request_info::{RequestInfo, Verb};
use resources::bootstrap::PendingVersions;
use responses;
use tracing::Instrument as _;

use crate::audit::{Auditor, Origin, Recording};
use crate::authentication::{
    ANONYMOUS, Authenticator, PeerCertificates, UNAUTHENTICATED, remove_impersonation,
};
use crate::authorization::Authorizer;
use crate::authorization::rights::Right;
use crate::faults::Faults;
use crate::health::Health;
use crate::metrics::ServerMetrics;
use crate::options::LimitOptions;
use crate::telemetry::Sampler;
use crate::zpages::Zpages;
pub use responses::{Response, ResponseBody};

mod access;
mod assembly;
mod audit_id;
mod audited;
mod body;
mod bounds;
mod browser;
mod context;
mod deadline;
mod draining;
mod fault_rules;
mod in_flight;
mod own_paths;
mod panics;
mod request_log;
mod sending;
mod storage_versions;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use audit_id::AuditIds;
pub(crate) use audited::{begin_audit, end_audit};
use browser::Browser;
pub(crate) use draining::Draining;
use in_flight::{Arriving, InFlight};
pub(crate) use request_log::TARGET as REQUEST_LOG_TARGET;
pub use work::ExpectedWork;

/// The handler behind the filters: everything but health and version.
pub trait Dispatch: Send + Sync + 'static {
    /// Handles a request that has been authorized.
    ///
    /// Boxed where the work begins, so that those who pass a request on neither contain nor move the future.
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
        work: ExpectedWork,
    ) -> BoxFuture<'static, Response>;
}

/// The filters, and the handler behind them.
pub struct Filters<D> {
    inner: Arc<D>,
    authenticator: Arc<Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    health: Health,
    in_flight: InFlight,
    audit_ids: AuditIds,
    request_timeout: Duration,
    metrics: Arc<ServerMetrics>,
    policy: ClusterPolicy,
    browser: Browser,
    /// `None` if requests are not audited.
    auditor: Option<Arc<Auditor>>,
    /// `None` if the server does not answer requests while it completes those in flight at its shutdown.
    draining: Option<Arc<Draining>>,
    zpages: Zpages,
    /// `None` if the server does not say how it stores resources.
    pending_versions: Option<Arc<PendingVersions>>,
    /// Whether an HTTP/2 connection ends after a request of a client that is not authenticated.
    ends_unauthenticated: bool,
    /// `None` if requests are not traced.
    sampler: Option<Sampler>,
    /// `None` but in tests.
    faults: Option<Arc<Faults>>,
}

/// The client of a connection.
#[derive(Default)]
pub(crate) struct Peer {
    certificates: Option<PeerCertificates>,
    address: Option<SocketAddr>,
    is_authenticated: AtomicBool,
}

/// Results of the filters that the response or the log line needs.
#[derive(Default)]
struct Findings {
    /// `None` while requests are not logged.
    log: Option<Box<request_log::Entry>>,
    flow: Option<Arc<Flow>>,
    /// `None` if the request is not audited.
    audit: Option<Box<Recording>>,
    /// The warning to the client, whatever the response.
    warning: Option<&'static str>,
    /// Whether the connection ends after the response.
    ends_connection: bool,
}

/// The arrival of a request: its id, its time and its sender, and the time at which its response is due.
#[derive(Clone, Copy)]
struct Arrival<'r> {
    audit_id: &'r HeaderValue,
    received: Instant,
    deadline: Option<Instant>,
    client: Option<IpAddr>,
}

// === impl Arrival ===

impl Arrival<'_> {
    /// Returns the time in which the response is due.
    fn time_limit(self) -> Option<Duration> {
        self.deadline.map(|due| due.saturating_duration_since(self.received))
    }
}

// === impl Peer ===

impl Peer {
    /// Returns a client with these certificates, at this address.
    pub(crate) fn new(certificates: Option<PeerCertificates>, address: SocketAddr) -> Self {
        Self { certificates, address: Some(address), is_authenticated: AtomicBool::new(false) }
    }

    /// Returns whether a request over this connection has been authenticated, other than as anonymous.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Relaxed)
    }

    fn authenticated(&self, user: &UserInfo) {
        if !self.is_authenticated() && user.name != ANONYMOUS {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }
}

// === impl Filters ===

impl<D: Dispatch> Filters<D> {
    /// Wraps `inner` in the filters, without priority and fairness.
    pub fn new(
        inner: Arc<D>,
        authenticator: impl Into<Arc<Authenticator>>,
        authorizer: Arc<dyn Authorizer>,
        limits: &LimitOptions,
        metrics: Arc<ServerMetrics>,
    ) -> Self {
        Self {
            inner,
            authenticator: authenticator.into(),
            authorizer,
            in_flight: InFlight::new(limits),
            health: Health::default(),
            audit_ids: AuditIds::default(),
            request_timeout: limits.request_timeout,
            metrics,
            policy: ClusterPolicy::default(),
            browser: Browser::default(),
            auditor: None,
            draining: None,
            zpages: Zpages::default(),
            pending_versions: None,
            ends_unauthenticated: false,
            sampler: None,
            faults: None,
        }
    }

    /// Returns the auditor, if requests are audited.
    pub(crate) fn auditor(&self) -> Option<&Arc<Auditor>> {
        self.auditor.as_ref()
    }

    /// Returns what counts requests in flight, if it is needed at the shutdown.
    pub(crate) fn draining(&self) -> Option<&Arc<Draining>> {
        self.draining.as_ref()
    }

    /// Returns the server's metrics.
    pub fn metrics(&self) -> &ServerMetrics {
        &self.metrics
    }

    /// Returns the server's health checks.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Responds to a request of this client.
    pub(crate) async fn serve(&self, peer: &Peer, mut request: Request<Body>) -> Response {
        // Audit id: outermost, so that every response, refusals and panics included, can be found in the log.
        let audit_id = self.audit_ids.id_of(request.headers());

        // Request log: records everything that happens to the request from here on.
        let log = request_log::begin(&request, &audit_id, peer.address);

        // Draining: a server that shuts down completes the requests in flight, and refuses others.
        let entered = self.draining.as_ref().map_or(Ok(None), |draining| draining.enter(&request));
        let in_flight = match entered {
            Ok(token) => token,
            Err(refusal) => return logged(log, with_audit_id(*refusal, audit_id)),
        };
        let mut findings = Findings { log, ..Findings::default() };

        // Browsers: may pages of this origin call the server?
        let origin = self.browser.origin(request.headers());
        let preflight = Browser::preflight(origin.as_ref(), &request);

        // Panic recovery: a panic becomes a 500 of its request, and the server continues.
        // Polled in place, as is the timeout below: these are the largest parts of the future.
        let answered = {
            let checked = pin!(async {
                match preflight {
                    Some(answer) => Ok(answer),
                    None => self.check(peer, &mut request, &audit_id, &mut findings).await,
                }
            });
            AssertUnwindSafe(checked).catch_unwind().await
        };

        // Audit: records the response, or its start and its end.
        let mut response = end_audit(findings.audit, answered, &audit_id).await;

        // Response headers: set last, so that every response has them.
        finish_headers(response.headers_mut(), audit_id);
        self.browser.add_to(response.headers_mut(), origin);
        if let Some(flow) = findings.flow {
            flow.add_to(response.headers_mut());
        }
        if let Some(warning) = findings.warning {
            responses::add_warnings(&mut response, &[warning.to_owned()]);
        }
        if findings.ends_connection {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(token) = in_flight {
            response = token.until_sent(response);
        }
        logged(findings.log, response)
    }

    async fn check(
        &self,
        peer: &Peer,
        request: &mut Request<Body>,
        audit_id: &HeaderValue,
        findings: &mut Findings,
    ) -> Result<Response, StatusError> {
        // Bounds: requests with too many headers are refused.
        bounds::check(request.headers())?;

        // Request info: the filters below decide by it.
        let info = RequestInfo::parse(request.method(), request.uri());

        // Timeout: limits the time of a response; the client is informed that the outcome is unknown. Not for
        // watches. Measured by the runtime's clock, like the timeout itself.
        let received = tokio::time::Instant::now().into_std();
        let deadline = deadline::compute(&info, request.uri().query(), received, self.request_timeout);
        let deadline = deadline.inspect_err(|_| {
            let origin = Origin::new(request, &info, audit_id, received, peer.address);
            findings.audit = self.auditor.as_ref().and_then(|auditor| auditor.begin_refused(origin));
        })?;
        let client = peer.address.map(|address| address.ip());
        let arrival = Arrival { audit_id, received, deadline, client };
        let verb = info.verb;
        let admitted = pin!(self.admit(peer, info, request, arrival, findings));
        let Some(at) = deadline else { return admitted.await };
        let answered = tokio::time::timeout_at(at.into(), admitted).await;
        answered.unwrap_or_else(|_late| {
            let failure = deadline::exceeded();
            self.metrics.requests().terminated(verb, failure.code);
            Err(failure)
        })
    }

    async fn admit(
        &self,
        peer: &Peer,
        info: RequestInfo,
        request: &mut Request<Body>,
        arrival: Arrival<'_>,
        findings: &mut Findings,
    ) -> Result<Response, StatusError> {
        // Authentication: determines the user.
        let begun = self.sampler.map(|_| Instant::now());
        let identified = self.authenticate(peer, request.headers(), &info.path).await;
        let authenticated = identified.user;
        findings.warning = identified.warning;

        // HTTP/2 is costly to serve: only authenticated clients keep their connection.
        let is_known = authenticated.as_ref().is_ok_and(|user| !is_anonymous(user));
        let is_http2 = request.version() == Version::HTTP_2;
        findings.ends_connection = self.ends_unauthenticated && is_http2 && !is_known;

        // Audit: records the request from here on, if the policy says so.
        let origin = Origin::new(request, &info, arrival.audit_id, arrival.received, peer.address);
        match begin_audit(self.auditor.as_ref(), origin, authenticated.as_ref()).await {
            Ok(recording) => findings.audit = recording,
            Err(refusal) => return Ok(refusal),
        }
        let user = authenticated?;
        peer.authenticated(&user);
        if let Some(entry) = &mut findings.log {
            entry.set_user(&user.name);
        }
        // Credentials are not needed from here on, least of all by a proxied backend.
        self.authenticator.remove_credentials(request.headers_mut());

        // Tracing: the span of the request, if it is sampled; the user decides whether the client can ask for that.
        let root = self.begin_trace(&user, &info, request, arrival, begun);
        // Boxed: it is by far the largest part of what the filters above move into the timeout and other wrappers.
        let handled = Box::pin(self.handle(info, user, request, arrival, findings));
        let handled = handled.instrument(root.clone()).await;
        root.record("http.response.status_code", status_of(&handled));
        handled
    }

    /// Handles the request of a user that has been authenticated.
    async fn handle(
        &self,
        info: RequestInfo,
        mut user: UserInfo,
        request: &mut Request<Body>,
        arrival: Arrival<'_>,
        findings: &mut Findings,
    ) -> Result<Response, StatusError> {
        // Impersonation: replaces the user, if the original one may impersonate.
        if let Some(other) = self.impersonated(&user, &info, request.headers()).await? {
            findings.log.iter_mut().for_each(|entry| entry.set_impersonated(&other.user.name));
            findings.audit.iter_mut().for_each(|audit| audit.impersonate(&other));
            user = other.user;
            remove_impersonation(request.headers_mut());
        }

        // Flow control: finds the matching flow schema, which every response from here on names.
        findings.flow = self.in_flight.control.as_ref().and_then(|control| control.classify(&user, &info));
        if let (Some(entry), Some(flow)) = (&mut findings.log, &findings.flow) {
            entry.set_flow(flow);
        }

        // Authorization: checks that the user may do what the method and the path say. The handlers ask for what a request
        // turns out to do beside that.
        let right = Right::asked(&info);
        let authorized = self.authorize(&right, &user, findings.audit.as_deref());
        authorized.instrument(stage!("authorization")).await?;

        // Body: received before a place is taken, so that a slow client does not hold up others.
        let share = self.in_flight.share_of(&user);
        let received = body::receive(&info, request, &share).await;
        let reservation = received.inspect_err(|failure| self.count_terminated(info.verb, failure.code))?;

        // Priority and fairness: the request waits for its seats, at low cost, or is refused. Watches keep them until
        // their initial events are written; streams need none.
        let query = request.uri().query().unwrap_or_default();
        let flow = findings.flow.as_deref();
        let arriving = Arriving { user: &user, flow, info: &info, query, time_limit: arrival.time_limit() };
        let mut place = match self.in_flight.enter(&share, arriving).await {
            Ok(place) => place,
            Err(refused) => {
                self.count_terminated(info.verb, 429);
                return Ok(refused.response());
            }
        };
        // From here on the number of seats bounds the memory of bodies.
        drop(reservation);

        // Storage versions: a resource is written when the other servers can know how this one stores it.
        self.check_reported(&info)?;
        // Dispatch: calls the handler of the path.
        if let Some(answered) = self.own_path(&info, query, request.headers(), arrival.received).await {
            return answered;
        }
        let context = self.context_of(user, &info, request.headers(), arrival, findings);
        let is_watch = info.verb == Verb::Watch;
        let work = ExpectedWork::for_request(&info, query, &place);
        let request = std::mem::take(request);
        let mut response = match &self.faults {
            None => self.inner.dispatch(info, context, request, work).await,
            Some(faults) => Box::pin(self.dispatch_by_rules(faults, info, context, request, work)).await?,
        };
        if is_watch {
            place.initialize(&mut response);
        }

        // Sending: a large response counts as in flight until it is sent. It is dropped if that takes too
        // long, or if the client stops reading.
        Ok(sending::within(arrival.deadline, place, response))
    }

    /// Counts a request that is refused because the server is busy.
    fn count_terminated(&self, verb: Verb, code: u16) {
        if code == 429 {
            self.metrics.requests().terminated(verb, code);
        }
    }
}

fn is_anonymous(user: &UserInfo) -> bool {
    user.name == ANONYMOUS && user.groups.iter().any(|group| group == UNAUTHENTICATED)
}

/// Logs a response, if requests are logged.
fn logged(entry: Option<Box<request_log::Entry>>, response: Response) -> Response {
    match entry {
        Some(entry) => entry.finish(response),
        None => response,
    }
}

/// Returns the status code of a response.
fn status_of(answered: &Result<Response, StatusError>) -> u16 {
    match answered {
        Ok(response) => response.status().as_u16(),
        Err(failure) => failure.code,
    }
}

fn with_audit_id(mut response: Response, audit_id: HeaderValue) -> Response {
    response.headers_mut().insert(audit_id::HEADER, audit_id);
    response
}

fn finish_headers(headers: &mut HeaderMap, audit_id: HeaderValue) {
    headers.insert(audit_id::HEADER, audit_id);
    // API responses hold for one moment and one user.
    headers
        .entry(http::header::CACHE_CONTROL)
        .or_insert(const { HeaderValue::from_static("no-cache, private") });
}
