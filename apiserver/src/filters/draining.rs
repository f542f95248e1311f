//! Refusal of new requests while the server completes those in flight, at its shutdown.
//!
//! Kubernetes concept: `WithRetryAfter` and `WithWaitGroup` of `k8s.io/apiserver/pkg/server/filters`.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONNECTION, RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use request_info::RequestInfo;
use responses::{self, Response};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The paths of probes and of metrics, which are served to the end.
const EXEMPT_PATHS: [&str; 4] = ["/readyz", "/livez", "/healthz", "/metrics"];
/// Other servers of the cluster are not refused.
const EXEMPT_AGENT: &[u8] = b"kube-apiserver/";
const MESSAGE: &str = "The apiserver is shutting down, please try again later.\n";

/// The requests in flight, and whether further ones are refused.
#[derive(Debug, Default)]
pub(crate) struct Draining {
    refuses: AtomicBool,
    in_flight: TaskTracker,
}

/// Counts a request as in flight until it is dropped.
pub(super) struct InFlightToken {
    _token: TaskTrackerToken,
}

// === impl Draining ===

impl Draining {
    /// Refuses new requests from now on, and waits until those in flight are completed.
    pub(crate) async fn complete(&self) {
        self.refuses.store(true, Ordering::SeqCst);
        self.in_flight.close();
        self.in_flight.wait().await;
    }

    /// Counts a request in flight. Watches and streams are not counted; neither are requests that are never refused.
    ///
    /// # Errors
    /// Returns the refusal if the server accepts no further request.
    pub(super) fn enter(&self, request: &Request<Body>) -> Result<Option<InFlightToken>, Box<Response>> {
        if is_exempt(request) {
            return Ok(None);
        }
        // Counted before the check, so that no request is missed between them.
        let token = InFlightToken { _token: self.in_flight.token() };
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Box::new(refusal()));
        }
        let is_long_running = RequestInfo::parse(request.method(), request.uri()).is_long_running();
        Ok((!is_long_running).then_some(token))
    }
}

// === impl InFlightToken ===

impl InFlightToken {
    /// Keeps a request in flight until its response is sent.
    pub(super) fn until_sent(self, mut response: Response) -> Response {
        if !response.body().is_small() {
            response.body_mut().keep(self);
        }
        response
    }
}

fn is_exempt(request: &Request<Body>) -> bool {
    let agent = request.headers().get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    let path = request.uri().path();
    agent.starts_with(EXEMPT_AGENT) || EXEMPT_PATHS.iter().any(|prefix| path.starts_with(prefix))
}

fn refusal() -> Response {
    let mut response = responses::text(StatusCode::TOO_MANY_REQUESTS, Bytes::from_static(MESSAGE.as_bytes()));
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}
