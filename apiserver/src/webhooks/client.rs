//! The connections to one webhook, and a call.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use clients::dial::DialError;
use clients::kubeconfig::Kubeconfig;
use clients::{
    CallFailure, ClientSettings, Connector, Content, Place, ServiceResolver, SettingsError, TrustSource,
    read, refused,
};
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use registry_core::rest::webhook::{WebhookCall, WebhookClientConfig, WebhookError, WebhookTarget};
use registry_core::stage;
use request_info::decode_bytes;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::UnusableWebhook;
use crate::shares::{QueueFull, TurnBounds, Turns};
use crate::telemetry::{self, TRACEPARENT};
use crate::version::SERVER_VERSION;

/// The calls of one webhook: what one user causes at once is bounded, so that a webhook that writes what it is called for
/// does not call itself without end, and nobody waits for the calls of others. Further calls wait for their turn, within
/// their time.
pub(crate) const CALLS: TurnBounds = TurnBounds { at_once: 256, queued: 65_536 };
/// Maximum time to connect: that of a whole call.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// As in Kubernetes: calls over HTTP/2 would all go to one of the endpoints of a service.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];
/// The API itself, for webhooks that are served by aggregated servers.
const OWN_API: &str = "kubernetes.default.svc:443";
/// Addend that rounds a time up to whole seconds.
const ALMOST_A_SECOND: Duration = Duration::from_nanos(999_999_999);
/// The port of webhooks whose URL names none.
const DEFAULT_PORT: u16 = 443;

/// The connections to one webhook.
pub(super) struct Client {
    /// The URL, as in messages, without the query.
    url: String,
    /// The value of `Host`.
    host: HeaderValue,
    connections: clients::Client,
    /// The calls by user.
    calls: Turns<String>,
    /// Whether the log says that the webhook's address is not allowed.
    has_logged_refusal: AtomicBool,
}

/// Reasons for which there is no answer in time.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("this user has {0} calls of this webhook already, and none ended in time")]
    Busy(usize),
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    #[error("context deadline exceeded (Client.Timeout {0})")]
    Late(&'static str),
}

/// Returns the settings of the client of a webhook: the authorities of its configuration, and the credentials for its host.
fn settings(
    url: &str,
    target: &str,
    config: &WebhookClientConfig,
    users: Option<&Kubeconfig>,
) -> Result<ClientSettings, SettingsError> {
    let mut settings = ClientSettings::anonymous(url);
    let named = users.map(|users| users.credentials_for(target)).transpose()?.flatten();
    if let Some(credentials) = named {
        settings.credentials = credentials;
    } else if let (OWN_API, Ok(own)) = (target, ClientSettings::in_cluster()) {
        settings = ClientSettings { server: url.to_owned(), ..own };
    } else if let Some(users) = users {
        settings.credentials = users.default_credentials()?.unwrap_or_default();
    }
    if !config.ca_bundle.trim_ascii().is_empty() {
        settings.trust = TrustSource::Authorities(Content::Inline(config.ca_bundle.clone()));
    }
    Ok(settings)
}

/// Returns the path that client-go requests for the path of a URL: decoded, without empty segments and `.`, without the
/// segment before each `..`, and encoded as Go does. Servers answer other paths with redirects, which a webhook's client
/// does not follow.
///
/// Kubernetes concept: `NewRequest` of `k8s.io/client-go/rest`, `URL.EscapedPath` of Go's `net/url`.
fn requested_path(path: &str) -> String {
    let decoded = decode_bytes(path);
    let mut kept = Vec::new();
    for segment in decoded.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    let mut encoded = String::from("/");
    for byte in kept.join(&b'/') {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            encoded.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

// === impl Client ===

impl Client {
    /// Creates the client of a webhook.
    ///
    /// # Errors
    /// Fails with a reason if its URL or its bundle cannot be used.
    pub(super) fn new(
        config: &WebhookClientConfig,
        resolver: Arc<ServiceResolver>,
        users: Option<&Kubeconfig>,
        calls: TurnBounds,
    ) -> Result<Self, UnusableWebhook> {
        let url = config.target.to_string();
        let uri: Uri = url.parse()?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(UnusableWebhook::NoHost)?;
        if uri.scheme_str() != Some("https") {
            return Err(UnusableWebhook::Scheme);
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let server_name = host.clone();
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let port = uri.port_u16().unwrap_or(DEFAULT_PORT);
        let egress = resolver.egress();
        let (place, route) = match &config.target {
            WebhookTarget::Url(_) | WebhookTarget::Kubeconfig(_) => {
                (Place::Host { host, port }, egress.control_plane.clone())
            }
            WebhookTarget::Service { namespace, name, .. } => {
                let (namespace, name, route) = (namespace.clone(), name.clone(), egress.cluster.clone());
                (Place::Service { resolver, namespace, name, port }, route)
            }
        };
        let settings = settings(&url, &format!("{}:{port}", uri.host().unwrap_or_default()), config, users)?;
        let connector = Connector::new(place, server_name, route, None).within(DIAL_TIMEOUT);
        Ok(Self {
            host: HeaderValue::from_str(authority)?,
            url: format!("https://{authority}{}", requested_path(uri.path())),
            connections: clients::Client::connecting(settings, connector, &PROTOCOLS)?,
            calls: Turns::new(calls),
            has_logged_refusal: AtomicBool::new(false),
        })
    }

    /// Sends a request, and returns the body of the answer.
    ///
    /// # Errors
    /// Fails if there is no answer of success in time that is small enough.
    pub(super) async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError> {
        let WebhookCall { user, body, timeout, max_answer_bytes, .. } = call;
        let deadline = Instant::now() + timeout;
        // Rounded up, so that it is never 0.
        let query = format!("timeout={}s", timeout.saturating_add(ALMOST_A_SECOND).as_secs());
        let failed = |source| WebhookError::Unanswered { url: format!("{}?{query}", self.url), source };
        let _turn = match user {
            Some(user) => match timeout_at(deadline, self.calls.take(user)).await {
                Ok(turn) => Some(turn.map_err(|full| failed(NoAnswer::from(full).into()))?),
                Err(_late) => return Err(failed(NoAnswer::Busy(self.calls.bounds().at_once).into())),
            },
            None => None,
        };
        let late = |doing| failed(NoAnswer::Late(doing).into());
        let Ok(answered) = timeout_at(deadline, self.answer(&query, &body))
            .instrument(stage!("webhook", url = self.url))
            .await
        else {
            return Err(late("exceeded while awaiting headers"));
        };
        let answer = answered.map_err(|error| failed(error.into()))?;
        drop(body);
        let (head, incoming) = answer.into_parts();
        let is_success = (StatusCode::OK..=StatusCode::PARTIAL_CONTENT).contains(&head.status);
        if !is_success {
            let text = timeout_at(deadline, refused(head.status, &head.headers, incoming)).await;
            return Err(WebhookError::Refused(
                text.map_err(|_| late("or context cancellation while reading body"))?,
            ));
        }
        match timeout_at(deadline, read(incoming, max_answer_bytes)).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(error)) => Err(failed(error.into())),
            Err(_) => Err(late("or context cancellation while reading body")),
        }
    }

    async fn answer(&self, query: &str, body: &Bytes) -> Result<Response<Incoming>, CallFailure> {
        let mut request = Request::post(format!("{}?{query}", self.url));
        if let Some(context) = telemetry::present() {
            request = request.header(TRACEPARENT, context.to_string());
        }
        let request = request.header(HOST, &self.host).header(USER_AGENT, SERVER_VERSION);
        let request = request.body(Full::new(body.clone()));
        let request = request.map_err(|error| CallFailure::Malformed(error.into()))?;
        let answered = self.connections.send(request).await;
        let failure = answered.as_ref().err().and_then(CallFailure::dial_error);
        if let Some(refused @ DialError::BackendNotAllowed(_)) = failure
            && !self.has_logged_refusal.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(url = self.url, "a webhook cannot be called: {refused}");
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_requested_as_client_go_does() {
        for (given, requested) in [
            ("/", "/"),
            ("", "/"),
            ("/validate", "/validate"),
            ("//validate", "/validate"),
            ("/validate/", "/validate"),
            ("/a/./b/../c//d", "/a/c/d"),
            ("/../a", "/a"),
            ("/a%2F%2Fb", "/a/b"),
            ("/a/%2E%2e/b", "/b"),
            ("/a%20b/%c3%a9/%ff", "/a%20b/%C3%A9/%FF"),
            ("/a:b@c;d=e,f+g$h&i/(j)", "/a:b@c;d=e,f+g$h&i/%28j%29"),
            ("/%25zz", "/%25zz"),
        ] {
            assert_eq!(requested_path(given), requested, "{given}");
        }
    }
}
