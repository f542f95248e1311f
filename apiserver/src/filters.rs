//! What every request passes before it is worked on, and every answer on its way out.
//!
//! Kubernetes concept: `DefaultBuildHandlerChain` in `k8s.io/apiserver/pkg/server`. The chain is one function
//! per level of nesting, read from top to bottom, instead of a tower of wrapped services: nothing is boxed, and
//! what comes before what is in plain sight.

use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use futures::FutureExt;
use http::{HeaderMap, HeaderValue, Request, Response};
use registry_core::RequestContext;
use registry_core::api::StatusError;
use registry_core::context::{ClusterPolicy, UserInfo};

use crate::authentication::{
    ANONYMOUS, Authenticator, ClientCertificate, remove_impersonation, requested_impersonation,
};
use crate::authorization::{Attributes, Authorizer, Decision};
use crate::flowcontrol::{Flow, FlowSchemas};
use crate::health::{Endpoint, Health};
use crate::metrics::ServerMetrics;
use crate::options::LimitOptions;
use crate::request_info::{RequestInfo, Verb};
use crate::responses;
use crate::version;

mod audit_id;
mod body;
mod bounds;
mod deadline;
mod in_flight;
mod panics;
mod request_log;
mod sending;
#[cfg(test)]
mod tests;

use audit_id::AuditIds;
use in_flight::InFlight;
pub(crate) use request_log::TARGET as REQUEST_LOG_TARGET;

/// What is behind the filters: everything but health and version.
pub trait Dispatch: Send + Sync + 'static {
    /// Answers a request that may happen.
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// The filters, and what is behind them.
pub struct Filters<D> {
    inner: Arc<D>,
    authenticator: Arc<Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    flow_schemas: Arc<FlowSchemas>,
    health: Health,
    in_flight: InFlight,
    audit_ids: AuditIds,
    request_timeout: Duration,
    metrics: Arc<ServerMetrics>,
    policy: ClusterPolicy,
}

/// The client at the other end of a connection.
#[derive(Default)]
pub(crate) struct Peer {
    certificate: Option<ClientCertificate>,
    address: Option<SocketAddr>,
    is_authenticated: AtomicBool,
}

/// What the filters find out about a request, and its answer or its log line has.
struct Findings {
    /// `None` while requests are not logged.
    log: Option<Box<request_log::Entry>>,
    flow: Option<Flow>,
}

/// When a request came in, and when its answer is due.
#[derive(Clone, Copy)]
struct Times {
    received: Instant,
    deadline: Option<Instant>,
}

// === impl Peer ===

impl Peer {
    /// A client with this certificate, at this address.
    pub(crate) fn new(certificate: Option<ClientCertificate>, address: SocketAddr) -> Self {
        Self { certificate, address: Some(address), is_authenticated: AtomicBool::new(false) }
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
    /// Puts filters before `inner`.
    pub fn new(
        inner: Arc<D>,
        authenticator: impl Into<Arc<Authenticator>>,
        authorizer: Arc<dyn Authorizer>,
        flow_schemas: Arc<FlowSchemas>,
        health: Health,
        limits: &LimitOptions,
        metrics: Arc<ServerMetrics>,
    ) -> Self {
        Self {
            inner,
            authenticator: authenticator.into(),
            authorizer,
            flow_schemas,
            health,
            in_flight: InFlight::new(limits.max_requests_inflight, limits.max_mutating_requests_inflight),
            audit_ids: AuditIds::default(),
            request_timeout: limits.request_timeout,
            metrics,
            policy: ClusterPolicy::default(),
        }
    }

    /// The same for a cluster that allows this.
    #[must_use]
    pub fn with_policy(self, policy: ClusterPolicy) -> Self {
        Self { policy, ..self }
    }

    /// What the server counts.
    pub fn metrics(&self) -> &ServerMetrics {
        &self.metrics
    }

    /// How the server is.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Answers a request of this client.
    pub(crate) async fn serve(&self, peer: &Peer, request: Request<Body>) -> Response<Body> {
        // Audit id: outermost, so that every answer, refusals and panics included, can be found in the log.
        let audit_id = self.audit_ids.id_of(request.headers());

        // Request log: whatever happens to the request from here on is in its line.
        let log = request_log::begin(&request, &audit_id, peer.address);
        let mut findings = Findings { log, flow: None };

        // Panic recovery: one request's panic is that request's 500, and the server lives on.
        let checked = self.check(peer, request, &audit_id, &mut findings);
        let answered = AssertUnwindSafe(checked).catch_unwind().await;
        let answered = answered.unwrap_or_else(|panic| Err(panics::recovered(panic.as_ref(), &audit_id)));

        // Response headers: after everything, so that they are on every answer.
        let mut response = answered.unwrap_or_else(|failure| responses::status(&failure));
        finish_headers(response.headers_mut(), audit_id);
        if let Some(flow) = findings.flow {
            flow.add_to(response.headers_mut());
        }
        match findings.log {
            Some(entry) => entry.finish(response),
            None => response,
        }
    }

    async fn check(
        &self,
        peer: &Peer,
        request: Request<Body>,
        audit_id: &HeaderValue,
        findings: &mut Findings,
    ) -> Result<Response<Body>, StatusError> {
        // Bounds: what is too large is refused before anything is read of it.
        let request = bounds::bounded(request).await?;

        // Request info: all below decide by it.
        let info = RequestInfo::parse(request.method(), request.uri());

        // Timeout: a client is answered in bounded time, and told that the outcome is unknown. Not for watches.
        // By the runtime's clock, which is the one that the timeout is measured by.
        let received = tokio::time::Instant::now().into_std();
        let deadline = deadline::of(&info, request.uri().query(), received, self.request_timeout)?;
        let times = Times { received, deadline };
        let verb = info.verb;
        let admitted = self.admit(peer, info, request, audit_id, times, findings);
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
        mut request: Request<Body>,
        audit_id: &HeaderValue,
        times: Times,
        findings: &mut Findings,
    ) -> Result<Response<Body>, StatusError> {
        // Authentication: who asks.
        let mut user = self.authenticate(peer.certificate.as_ref(), request.headers()).await?;
        peer.authenticated(&user);
        if let Some(entry) = &mut findings.log {
            entry.set_user(&user.name);
        }
        // Nothing behind this point, least of all a proxied backend, has any business with the credentials.
        request.headers_mut().remove(http::header::AUTHORIZATION);

        // Impersonation: from here on somebody else asks, if the first one may do that.
        if let Some(other) = self.impersonated(&user, &info, request.headers()).await? {
            if let Some(entry) = &mut findings.log {
                entry.set_impersonated(&other.name);
            }
            user = other;
            remove_impersonation(request.headers_mut());
        }

        // Flow: which of the flow schemas it falls under, told in every answer from here on.
        findings.flow = self.flow_schemas.classify(&user, &info);

        // Authorization: whether they may.
        self.authorize(&Attributes::of(&user, &info)).await?;

        // Body: received before a place is taken, so that a client that does not send holds up nobody else.
        let share = self.in_flight.share_of(&user);
        let (request, reservation) = body::received(&info, request, &share).await.inspect_err(|failure| {
            if failure.code == 429 {
                self.metrics.requests().terminated(info.verb, failure.code);
            }
        })?;

        // Max in flight: more work than this machine does at once waits here, where it is cheap; a request that
        // cannot wait is answered 429. Probes need no place; watches have their own.
        let place = share.enter(&info).await.inspect_err(|refusal| {
            self.metrics.requests().terminated(info.verb, refusal.code);
        })?;
        // From here on the number of places bounds the memory of bodies.
        drop(reservation);

        // Dispatch: to whom the path belongs.
        let query = request.uri().query().unwrap_or_default();
        if let Some(answered) = self.own_path(&info, query, times.received).await {
            return answered;
        }
        let mut context = context_of(user, &info, request.headers(), audit_id, times);
        context.policy = self.policy;
        let response = self.inner.dispatch(info, context, request).await;

        // Sending: a large answer is work in flight until it is sent. It is given up when that takes too long, or when
        // the client stops reading.
        Ok(sending::within(times.deadline, place, response))
    }

    /// The answer of a path that is the server's own, and about no API.
    async fn own_path(
        &self,
        info: &RequestInfo,
        query: &str,
        received: Instant,
    ) -> Option<Result<Response<Body>, StatusError>> {
        if info.resource.is_some() {
            return None;
        }
        if let Some((endpoint, rest)) = Endpoint::of_path(&info.path) {
            let response = self.health.respond(endpoint, rest, query).await;
            return Some(Ok(self.metrics.requests().served_own(endpoint.path(), received, response)));
        }
        match info.path.as_str() {
            "/version" | "/version/" => Some(Ok(version::response())),
            "/metrics" => {
                let (reads, writes) = self.in_flight.numbers();
                Some(self.metrics.respond(reads, writes).await)
            }
            "/metrics/slis" => Some(self.metrics.health().respond(&self.health).await),
            path if info.verb == Verb::Get => self.authenticator.document(path).map(Ok),
            _ => None,
        }
    }

    async fn authenticate(
        &self,
        certificate: Option<&ClientCertificate>,
        headers: &HeaderMap,
    ) -> Result<UserInfo, StatusError> {
        let access = self.metrics.access();
        let authenticated = self.authenticator.authenticate(certificate, headers).await;
        match &authenticated {
            Ok(user) => access.authenticated(&user.name),
            Err(_) => access.not_authenticated(headers.contains_key(http::header::AUTHORIZATION)),
        }
        authenticated
    }

    async fn authorize(&self, attributes: &Attributes<'_>) -> Result<(), StatusError> {
        let decision = self.authorizer.authorize(attributes).await;
        self.metrics.access().decided(&decision);
        match decision {
            Decision::Allow { .. } => Ok(()),
            Decision::Deny { reason } | Decision::NoOpinion { reason } => Err(attributes.forbidden(&reason)),
        }
    }

    /// Whom the user asks, and may ask, to act as.
    async fn impersonated(
        &self,
        user: &UserInfo,
        info: &RequestInfo,
        headers: &HeaderMap,
    ) -> Result<Option<UserInfo>, StatusError> {
        let Some(impersonation) = requested_impersonation(headers)? else { return Ok(None) };
        for need in &impersonation.needs {
            let attributes = Attributes { user, verb: "impersonate", resource: Some(need), path: &info.path };
            if !matches!(self.authorizer.authorize(&attributes).await, Decision::Allow { .. }) {
                let verb = format!("impersonate-on:user-info:{}", info.verb);
                return Err(Attributes { verb: &verb, ..Attributes::of(user, info) }.forbidden(""));
            }
        }
        Ok(Some(impersonation.user))
    }
}

/// The facts of a request that travel with it.
fn context_of(
    user: UserInfo,
    info: &RequestInfo,
    headers: &HeaderMap,
    audit_id: &HeaderValue,
    times: Times,
) -> RequestContext {
    let namespace = info.resource.as_ref().map(|resource| resource.namespace.clone()).unwrap_or_default();
    let mut context = RequestContext::new(user, namespace);
    context.received = Some(times.received);
    context.deadline = times.deadline;
    audit_id.to_str().unwrap_or_default().clone_into(&mut context.audit_id);
    if let Some(agent) = headers.get(http::header::USER_AGENT) {
        // It names the manager of fields. As in Go, what is not UTF-8 becomes replacement characters.
        let name = agent.as_bytes().split(|byte| *byte == b'/').next().unwrap_or(&[]);
        context.user_agent = String::from_utf8_lossy(name).into_owned();
    }
    context
}

fn finish_headers(headers: &mut HeaderMap, audit_id: HeaderValue) {
    headers.insert(audit_id::HEADER, audit_id);
    // API answers are the truth of one moment, for one user.
    headers
        .entry(http::header::CACHE_CONTROL)
        .or_insert(const { HeaderValue::from_static("no-cache, private") });
}
