//! Forwards a request to an extension server, and returns its response.
//!
//! Kubernetes concept: `proxyHandler` of `k8s.io/kube-aggregator`.

use std::borrow::Cow;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{HOST, LOCATION, VIA};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use registry_core::RequestContext;
use request_info::read_query;
use responses::{Delivery, Response, ResponseBody};
use tokio_util::sync::CancellationToken;

use crate::proxy::{MAX_CONNECTIONS, headers, tunnel};
use crate::shares::{SharedPlace, SharedPlaces};

use super::error::RemoteError;
use super::identity;
use super::remote_service::RemoteService;
use super::transport::Transport;
use super::transports::Transports;

/// Maximum time until the response to a request for the resources of a group version begins.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// The header by which the audit events of both servers are related.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Forwards requests to extension servers.
pub(super) struct Forwarder {
    transports: Transports,
    relay: Relay,
}

/// Sends requests on to other servers, and returns their responses.
pub(super) struct Relay {
    /// Divided by user.
    places: Arc<SharedPlaces<String>>,
    /// Names this server in the header `Via` of forwarded requests, by which loops over several servers are found.
    via: HeaderValue,
    /// Ends streams.
    shutdown: CancellationToken,
}

/// The server that a request is sent on to.
pub(super) struct Destination<'d> {
    /// Its name in the log.
    pub(super) name: &'d str,
    /// The host and the port in the URL.
    pub(super) authority: &'d str,
    pub(super) transport: Arc<Transport>,
    /// The maximum time until the response begins, if there is one.
    pub(super) timeout: Option<Duration>,
}

/// The reason why a request is not sent on.
pub(super) type Refusal = (StatusCode, &'static str);

/// The body of a request, without the headers that may follow it: none of them was checked.
struct WithoutTrailers(Body);

/// The parts that a change of a request's protocol needs.
struct Upgrade {
    protocol: HeaderValue,
    /// The client's request.
    parts: Parts,
    /// Ends the stream.
    shutdown: CancellationToken,
}

// === impl Forwarder ===

impl Forwarder {
    /// Creates a forwarder. Upgraded connections end when `shutdown` is cancelled.
    pub(super) fn new(transports: Transports, shutdown: CancellationToken) -> Self {
        Self { transports, relay: Relay::new(shutdown) }
    }

    /// Returns the connections.
    pub(super) fn transports(&self) -> &Transports {
        &self.transports
    }

    /// Forwards a request.
    pub(super) async fn forward(
        &self,
        service: &RemoteService,
        context: &RequestContext,
        request: Request<Body>,
        is_watch: bool,
    ) -> Response {
        if !service.is_available {
            return page(StatusCode::SERVICE_UNAVAILABLE, &"service unavailable");
        }
        let place = match self.relay.enter(context, &request) {
            Ok(place) => place,
            Err((status, text)) => return page(status, &text),
        };
        let transport = match self.transports.for_service(service) {
            Ok(transport) => transport,
            Err(error) => return page(StatusCode::INTERNAL_SERVER_ERROR, &error),
        };
        let authority = match self.transports.authority(service).await {
            Ok(authority) => authority,
            Err(reason) => {
                tracing::debug!(api_service = service.name, "no address: {reason}");
                return page(StatusCode::SERVICE_UNAVAILABLE, &"service unavailable");
            }
        };
        let is_discovery = request.uri().path().trim_end_matches('/') == service.root();
        let destination = Destination {
            name: &service.name,
            authority: &authority,
            transport,
            timeout: is_discovery.then_some(DISCOVERY_TIMEOUT),
        };
        self.relay.send(destination, place, context, request, is_watch).await
    }
}

// === impl Relay ===

impl Relay {
    /// Creates a relay. Upgraded connections end when `shutdown` is cancelled.
    pub(super) fn new(shutdown: CancellationToken) -> Self {
        // A random uuid has only characters that headers can have.
        let via = HeaderValue::try_from(format!("HTTP/2 {}", uuid::Uuid::new_v4()));
        let via = via.unwrap_or(HeaderValue::from_static("HTTP/2 aggregator"));
        Self { places: SharedPlaces::new(MAX_CONNECTIONS), via, shutdown }
    }

    /// Returns a place for a request.
    ///
    /// # Errors
    /// Fails if this server has forwarded the request before, or if too many requests are forwarded.
    pub(super) fn enter(
        &self,
        context: &RequestContext,
        request: &Request<Body>,
    ) -> Result<SharedPlace<String>, Refusal> {
        if request.headers().get_all(VIA).iter().any(|passed| *passed == self.via) {
            return Err((StatusCode::LOOP_DETECTED, "the request was forwarded by this server before"));
        }
        let place = self.places.take(context.user.name.as_str());
        place.ok_or((StatusCode::TOO_MANY_REQUESTS, "too many requests are forwarded"))
    }

    /// Sends a request that has this place on to a server, and returns the response, or a page that says why there is none.
    pub(super) async fn send(
        &self,
        to: Destination<'_>,
        place: SharedPlace<String>,
        context: &RequestContext,
        request: Request<Body>,
        is_watch: bool,
    ) -> Response {
        let upgrade = headers::wanted_upgrade(request.headers()).map(|protocol| {
            let parts = request_parts(&request);
            Upgrade { protocol, parts, shutdown: self.shutdown.clone() }
        });
        let mut outgoing = match outgoing(to.authority, context, request, upgrade.as_ref()) {
            Ok(outgoing) => outgoing,
            Err(error) => return page(StatusCode::INTERNAL_SERVER_ERROR, &error),
        };
        outgoing.headers_mut().append(VIA, self.via.clone());
        let client = if upgrade.is_some() { &to.transport.upgrades } else { &to.transport.requests };
        let answer = async { client.request(outgoing).await.map_err(RemoteError::from) };
        let answer = match to.timeout {
            Some(timeout) => in_time(timeout, answer).await,
            None => answer.await,
        };
        match answer {
            Ok(answer) => respond(answer, upgrade, is_watch, place, to.transport),
            Err(reason) => {
                tracing::debug!(server = to.name, "a request was not forwarded: {reason}");
                let text = format!("error trying to reach service: {reason}");
                page(StatusCode::SERVICE_UNAVAILABLE, &text)
            }
        }
    }
}

/// Waits for the response to a request for discovery, which all clients make.
async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, RemoteError>>,
) -> Result<T, RemoteError> {
    tokio::time::timeout(limit, answer).await.unwrap_or(Err(RemoteError::NoDiscovery))
}

/// Returns a request's parts without its body, with the connection that can change its protocol.
fn request_parts(request: &Request<Body>) -> Parts {
    let mut bare = Request::new(());
    *bare.method_mut() = request.method().clone();
    *bare.uri_mut() = request.uri().clone();
    *bare.version_mut() = request.version();
    *bare.headers_mut() = request.headers().clone();
    *bare.extensions_mut() = request.extensions().clone();
    bare.into_parts().0
}

/// Returns the response of an extension server as the client receives it.
fn respond(
    mut answer: Response<Incoming>,
    upgrade: Option<Upgrade>,
    is_watch: bool,
    place: SharedPlace<String>,
    transport: Arc<Transport>,
) -> Response {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let Some(Upgrade { parts, shutdown, .. }) = upgrade else {
            return page(StatusCode::SERVICE_UNAVAILABLE, &"the service changes the protocol unasked");
        };
        return tunnel::open(&parts, &mut answer, place, shutdown)
            .unwrap_or_else(|failure| page(StatusCode::BAD_REQUEST, &failure.message));
    }
    // A redirect would make the client send its credentials to wherever the service wants.
    if answer.status().is_redirection() && answer.headers().contains_key(LOCATION) {
        return page(
            StatusCode::BAD_GATEWAY,
            &"the backend attempted to redirect this request, which is not permitted",
        );
    }
    let (mut head, inner) = answer.into_parts();
    headers::clean_response(&mut head.headers);
    head.version = Version::default();
    head.extensions = http::Extensions::default();
    let inner = Body::new(inner);
    let delivery = if is_watch { Delivery::Forwarded(inner) } else { Delivery::Stream(inner) };
    let mut body = ResponseBody::from(delivery);
    body.keep((place, transport));
    Response::from_parts(head, body)
}

/// Returns the request as it is sent to the extension server.
fn outgoing(
    authority: &str,
    context: &RequestContext,
    request: Request<Body>,
    upgrade: Option<&Upgrade>,
) -> Result<Request<Body>, RemoteError> {
    let (parts, body) = request.into_parts();
    let mut own = parts.headers;
    headers::clean_request(&mut own);
    own.remove(HOST);
    headers::append_forwarded_for(&mut own, context.client_address);
    identity::set(&mut own, &context.user)?;
    if let Ok(id) = HeaderValue::from_str(&context.audit_id) {
        own.insert(AUDIT_ID, id);
    }
    if let Some(upgrade) = upgrade {
        headers::set_upgrade(&mut own, upgrade.protocol.clone());
    }
    let target = target(&parts.uri);
    let body = if body.is_end_stream() { Body::empty() } else { Body::new(WithoutTrailers(body)) };
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = url(authority, &target)?;
    *request.headers_mut() = own;
    Ok(request)
}

/// Returns the path of a request with the part of its query that was authorized.
fn target(uri: &Uri) -> Cow<'_, str> {
    let whole = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let Some(query) = uri.query() else { return whole.into() };
    match read_query(query) {
        Cow::Borrowed(_) => whole.into(),
        Cow::Owned(read) => format!("{}?{read}", uri.path()).into(),
    }
}

/// Returns the URL of a path at an extension server.
pub(super) fn url(authority: &str, target: &str) -> Result<Uri, http::Error> {
    Uri::builder().scheme("https").authority(authority).path_and_query(target).build()
}

/// Returns a plain page, as Kubernetes' aggregator responds on its own behalf.
pub(super) fn page(status: StatusCode, text: &dyn Display) -> Response {
    responses::text(status, format!("{text}\n"))
}

// === impl WithoutTrailers ===

impl HttpBody for WithoutTrailers {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.0).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => Poll::Ready(None),
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
