//! Forwards a request to an extension server, and returns its response.
//!
//! Kubernetes concept: `proxyHandler` of `k8s.io/kube-aggregator`.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use registry_core::context::UserInfo;
use tokio_util::sync::CancellationToken;

use crate::clients::request_failed;
use crate::proxy::{MAX_CONNECTIONS, headers, tunnel};
use crate::shares::{SharedPlace, SharedPlaces};

use super::identity;
use super::remote_service::RemoteService;
use super::transport::{Transport, Transports};

/// Forwards requests.
pub(super) struct Forwarder {
    transports: Transports,
    /// Divided by user.
    places: Arc<SharedPlaces<String>>,
    /// Ends streams.
    shutdown: CancellationToken,
}

/// The body of a response, which keeps its place until it ends.
struct HeldBody {
    inner: Incoming,
    _place: SharedPlace<String>,
    _transport: Arc<Transport>,
}

// === impl Forwarder ===

impl Forwarder {
    /// Creates a forwarder. Upgraded connections end when `shutdown` is cancelled.
    pub(super) fn new(transports: Transports, shutdown: CancellationToken) -> Self {
        Self { transports, places: SharedPlaces::new(MAX_CONNECTIONS), shutdown }
    }

    /// Returns the connections.
    pub(super) fn transports(&self) -> &Transports {
        &self.transports
    }

    /// Forwards a request of this user.
    pub(super) async fn forward(
        &self,
        service: &RemoteService,
        user: &UserInfo,
        request: Request<Body>,
    ) -> Response<Body> {
        if !service.is_available {
            return page(StatusCode::SERVICE_UNAVAILABLE, "service unavailable");
        }
        let Some(place) = self.places.take(user.name.as_str()) else {
            return page(StatusCode::TOO_MANY_REQUESTS, "too many requests are forwarded");
        };
        let transport = match self.transports.of(service) {
            Ok(transport) => transport,
            Err(reason) => return page(StatusCode::INTERNAL_SERVER_ERROR, &reason),
        };
        let (parts, body) = request.into_parts();
        let upgrade = headers::wanted_upgrade(&parts.headers);
        let outgoing = match outgoing(service, user, &parts, body, upgrade.clone()) {
            Ok(outgoing) => outgoing,
            Err(reason) => return page(StatusCode::INTERNAL_SERVER_ERROR, &reason),
        };
        let client = if upgrade.is_some() { &transport.upgrades } else { &transport.requests };
        let answer = match client.request(outgoing).await {
            Ok(answer) => answer,
            Err(error) => {
                let reason = request_failed(&error);
                tracing::debug!(api_service = service.name, "a request was not forwarded: {reason}");
                let text = format!("error trying to reach service: {reason}");
                return page(StatusCode::SERVICE_UNAVAILABLE, &text);
            }
        };
        respond(answer, upgrade.is_some().then(|| self.shutdown.clone()), &parts, place, transport)
    }
}

/// Returns the response of an extension server as the client receives it. `upgrade` ends the stream of a request that may
/// change the protocol.
fn respond(
    mut answer: Response<Incoming>,
    upgrade: Option<CancellationToken>,
    parts: &Parts,
    place: SharedPlace<String>,
    transport: Arc<Transport>,
) -> Response<Body> {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let Some(shutdown) = upgrade else {
            return page(StatusCode::SERVICE_UNAVAILABLE, "the service changes the protocol unasked");
        };
        return tunnel::open(parts, &mut answer, place, shutdown)
            .unwrap_or_else(|failure| page(StatusCode::BAD_REQUEST, &failure.message));
    }
    // A redirect would make the client send its credentials to wherever the service wants.
    if answer.status().is_redirection() && answer.headers().contains_key(LOCATION) {
        return page(
            StatusCode::BAD_GATEWAY,
            "the backend attempted to redirect this request, which is not permitted",
        );
    }
    let (mut head, inner) = answer.into_parts();
    headers::clean_response(&mut head.headers);
    head.version = Version::default();
    head.extensions = http::Extensions::default();
    Response::from_parts(head, Body::new(HeldBody { inner, _place: place, _transport: transport }))
}

/// Returns the request as it is sent to the extension server.
fn outgoing(
    service: &RemoteService,
    user: &UserInfo,
    parts: &Parts,
    body: Body,
    upgrade: Option<HeaderValue>,
) -> Result<Request<Body>, String> {
    let mut own = parts.headers.clone();
    headers::clean_request(&mut own);
    own.remove(HOST);
    identity::set(&mut own, user)?;
    if let Some(protocol) = upgrade {
        headers::set_upgrade(&mut own, protocol);
    }
    let target = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = url(service, target)?;
    *request.headers_mut() = own;
    Ok(request)
}

/// Returns the URL of a path at an extension server.
pub(super) fn url(service: &RemoteService, target: &str) -> Result<Uri, String> {
    let authority = format!("{}:{}", service.at.server_name(), service.at.port);
    let built = Uri::builder().scheme("https").authority(authority).path_and_query(target).build();
    built.map_err(|error| error.to_string())
}

/// Returns a plain page, as Kubernetes' aggregator responds on its own behalf.
fn page(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

// === impl HeldBody ===

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
