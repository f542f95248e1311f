//! Forwards a request, and returns its response.

use std::net::IpAddr;

use axum::body::Body;
use clients::dial::DialError;
use clients::without_status;
use futures::{StreamExt as _, TryStreamExt as _};
use http::header::{CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use registry_core::api::{GroupResource, Reason, StatusError};
use registry_core::rest::connect::{Destination, Exchange};
use responses::{Response, ResponseBody};

use super::headers;
use super::tunnel;
use super::{Permit, Proxy};

/// Maximum number of bytes that are read of a kubelet's error.
const MAX_COMPLAINT_BYTES: usize = 64 * 1024;
/// Maximum number of characters of it that are reported.
const MAX_COMPLAINT_CHARS: usize = 2048;

/// A request to be forwarded.
pub(crate) struct ProxiedRequest<'a> {
    /// Its resource, for messages.
    pub(crate) resource: GroupResource,
    /// The object's name, for messages.
    pub(crate) name: &'a str,
    /// The user who sends it.
    pub(crate) user: &'a str,
    /// The address that it came from.
    pub(crate) client: Option<IpAddr>,
    /// The head of the request.
    pub(crate) parts: &'a Parts,
    /// The part of its path up to the proxy.
    pub(crate) prefix: &'a str,
    /// The body of the request.
    pub(crate) body: Body,
}

// === impl Proxy ===

impl Proxy {
    /// Forwards a request, and returns the response.
    ///
    /// # Errors
    /// 400: an upgrade is required, or the address is not allowed. 429: too many at once. 500 and 503: the
    /// peer does not respond.
    pub(crate) async fn forward(
        &self,
        to: &Destination,
        request: ProxiedRequest<'_>,
    ) -> Result<Response, StatusError> {
        let upgrade =
            headers::wanted_upgrade(&request.parts.headers).filter(|_| to.exchange != Exchange::Text);
        if to.exchange == Exchange::Upgrade && upgrade.is_none() {
            return Err(StatusError::bad_request("Upgrade request required"));
        }
        let permit = self.admit(request.user)?;
        let resource = request.resource;
        let name = request.name;
        let prefix = request.prefix;
        let parts = request.parts;
        let outgoing = match to.exchange {
            Exchange::Text => text_request(to),
            Exchange::Any | Exchange::Upgrade => {
                outgoing(to, parts, request.body, upgrade.clone(), request.client)
            }
        }?;
        let stream = self.dial(to).await.map_err(|error| unreachable_peer(to, &error))?;
        let failed = |error: hyper::Error| broken(to, &error);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // Ends with the request: only the sender and the response's body keep it alive.
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!("a proxied connection ended: {error}");
            }
        });
        let mut answer = sender.send_request(outgoing).await.map_err(failed)?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            if upgrade.is_none() {
                return Err(unavailable("it changes the protocol unasked"));
            }
            return tunnel::open(parts, &mut answer, permit, self.shutdown.clone());
        }
        if to.exchange == Exchange::Text {
            return self.text_response(answer, permit, resource, name).await;
        }
        let (mut head, inner) = answer.into_parts();
        headers::clean_response(&mut head.headers);
        headers::rewrite_location(&mut head.headers, to, prefix);
        head.version = Version::default();
        head.extensions = http::Extensions::default();
        let mut body = ResponseBody::stream(inner);
        body.keep(permit);
        Ok(Response::from_parts(head, body))
    }

    /// Returns the text as it arrives, or the peer's error.
    async fn text_response(
        &self,
        answer: Response<Incoming>,
        permit: Permit,
        resource: GroupResource,
        name: &str,
    ) -> Result<Response, StatusError> {
        let status = answer.status();
        if status.is_redirection() {
            return Err(StatusError::new(Reason::Unknown, "redirects forbidden"));
        }
        if !status.is_success() {
            let complaint = Limited::new(answer.into_body(), MAX_COMPLAINT_BYTES).collect().await;
            let complaint = complaint.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let complaint: String =
                String::from_utf8_lossy(&complaint).chars().take(MAX_COMPLAINT_CHARS).collect();
            return Err(complaint_of(status, &complaint, resource, name));
        }
        let inner = answer.into_body();
        let mut body = if inner.is_end_stream() {
            ResponseBody::empty()
        } else {
            // A followed log does not end by itself: it ends when the server stops.
            let text = inner.into_data_stream().take_until(self.shutdown.clone().cancelled_owned());
            ResponseBody::stream(StreamBody::new(text.map_ok(Frame::data)))
        };
        body.keep(permit);
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        Ok(response)
    }
}

/// Returns the forwarded request.
fn outgoing(
    to: &Destination,
    parts: &Parts,
    body: Body,
    upgrade: Option<HeaderValue>,
    client: Option<IpAddr>,
) -> Result<Request<Body>, StatusError> {
    let mut own = parts.headers.clone();
    let host = own.get(HOST).cloned();
    headers::clean_request(&mut own);
    headers::append_forwarded_for(&mut own, client);
    headers::set_host(&mut own, to);
    if to.exchange == Exchange::Any {
        headers::set_forwarded(&mut own, &parts.uri, host.as_ref());
    }
    if let Some(protocol) = upgrade {
        headers::set_upgrade(&mut own, protocol);
    }
    let query = to.query.as_deref().or(parts.uri.query());
    request_to(to, parts.method.clone(), query, own, body)
}

/// Returns a GET request.
fn text_request(to: &Destination) -> Result<Request<Body>, StatusError> {
    let mut own = HeaderMap::new();
    headers::set_host(&mut own, to);
    request_to(to, Method::GET, to.query.as_deref(), own, Body::empty())
}

fn request_to(
    to: &Destination,
    method: Method,
    query: Option<&str>,
    own: HeaderMap,
    body: Body,
) -> Result<Request<Body>, StatusError> {
    let path = if to.path.is_empty() { "/" } else { &to.path };
    let target = match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let uri: Uri =
        target.parse().map_err(|error| StatusError::bad_request(format!("invalid path: {error}")))?;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = own;
    Ok(request)
}

/// Returns the error for a kubelet's failure.
fn complaint_of(status: StatusCode, text: &str, resource: GroupResource, name: &str) -> StatusError {
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        return StatusError::internal(text);
    }
    let (reason, message) = without_status(status, text.to_owned());
    let mut failure =
        StatusError::new(reason, format!("{message} ( {resource} {name})")).about(resource, name);
    failure.code = status.as_u16();
    failure
}

/// Returns the error for a peer that does not respond.
fn unreachable_peer(to: &Destination, error: &DialError) -> StatusError {
    match (to.exchange, error) {
        (_, DialError::NotAllowed | DialError::OwnAddress(_)) => StatusError::bad_request(error.to_string()),
        (Exchange::Any, _) => unavailable(&error.to_string()),
        (Exchange::Upgrade, _) => {
            StatusError::new(Reason::Unknown, format!("error dialing backend: {error}"))
        }
        (Exchange::Text, _) => StatusError::new(Reason::Unknown, format!("Get {:?}: {error}", url(to))),
    }
}

/// Returns the error for a response that breaks off before its head is complete.
fn broken(to: &Destination, error: &hyper::Error) -> StatusError {
    match to.exchange {
        Exchange::Any => unavailable(&error.to_string()),
        Exchange::Upgrade | Exchange::Text => {
            StatusError::new(Reason::Unknown, format!("{}: {error}", url(to)))
        }
    }
}

fn unavailable(why: &str) -> StatusError {
    StatusError::new(Reason::ServiceUnavailable, format!("error trying to reach service: {why}"))
}

fn url(to: &Destination) -> String {
    let port = to.port.unwrap_or(to.scheme.default_port());
    let query = to.query.as_deref().filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}://{}:{port}{}{query}", to.scheme.as_str(), to.host, to.path)
}
