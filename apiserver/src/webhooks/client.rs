//! The connections to one webhook, and a call.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use clients::dial::{Connection, DialError};
use clients::kubeconfig::Kubeconfig;
use clients::{
    ClientSettings, Content, Followed, Prepared, ServiceResolver, SettingsError, TrustSource, broken,
    is_closed, read, refused,
};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use registry_core::rest::webhook::{WebhookClientConfig, WebhookError, WebhookTarget};
use registry_core::stage;
use request_info::decode_bytes;
use rustls::ClientConfig;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::UnusableWebhook;
use crate::telemetry::{self, TRACEPARENT};
use crate::version::SERVER_VERSION;

/// Maximum number of calls of one webhook at once. Others wait for their turn, within their time.
const MAX_CALLS: usize = 64;
/// Maximum number of connections of one webhook that are kept for further calls.
const MAX_IDLE: usize = 16;
/// Time for which an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
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
    place: Place,
    /// The URL, as in messages, without the query.
    url: String,
    /// The value of `Host`.
    host: HeaderValue,
    path: String,
    /// The name in the webhook's certificate.
    server_name: String,
    files: Followed,
    resolver: Arc<ServiceResolver>,
    calls: Semaphore,
    idle: Mutex<Vec<Idle>>,
    /// Whether the log says that the webhook's address is not allowed.
    has_logged_refusal: AtomicBool,
}

/// Where connections are made to.
enum Place {
    Host { host: String, port: u16 },
    Service { namespace: String, name: String, port: u16 },
}

struct Idle {
    sender: SendRequest<Full<Bytes>>,
    /// The TLS configuration with which the connection was made.
    tls: Arc<ClientConfig>,
    since: Instant,
}

/// Error of a call without an answer.
#[derive(Debug, thiserror::Error)]
enum CallError {
    /// The connection had been used before, and was closed: the webhook has not read the request.
    #[error("EOF")]
    Closed,
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error("{}", broken(.0))]
    Broken(#[from] hyper::Error),
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
        let place = match &config.target {
            WebhookTarget::Url(_) | WebhookTarget::Kubeconfig(_) => Place::Host { host, port },
            WebhookTarget::Service { namespace, name, .. } => {
                Place::Service { namespace: namespace.clone(), name: name.clone(), port }
            }
        };
        let settings = settings(&url, &format!("{}:{port}", uri.host().unwrap_or_default()), config, users)?;
        let path = requested_path(uri.path());
        Ok(Self {
            place,
            host: HeaderValue::from_str(authority)?,
            url: format!("https://{authority}{path}"),
            path,
            server_name,
            files: Followed::new(settings, &PROTOCOLS)?,
            resolver,
            calls: Semaphore::new(MAX_CALLS),
            idle: Mutex::default(),
            has_logged_refusal: AtomicBool::new(false),
        })
    }

    /// Sends a request, and returns the body of the answer.
    ///
    /// # Errors
    /// Fails if there is no answer of success in time that is small enough.
    pub(super) async fn call(
        &self,
        body: Bytes,
        timeout: Duration,
        max_answer_bytes: usize,
    ) -> Result<Bytes, WebhookError> {
        let deadline = Instant::now() + timeout;
        // Rounded up, so that it is never 0.
        let query = format!("timeout={}s", timeout.saturating_add(ALMOST_A_SECOND).as_secs());
        let failed = |reason: &dyn Display| WebhookError(format!("Post \"{}?{query}\": {reason}", self.url));
        let Ok(Ok(_permit)) = timeout_at(deadline, self.calls.acquire()).await else {
            let text = format!("there are {MAX_CALLS} calls of this webhook already, and none ended in time");
            return Err(failed(&text));
        };
        let late = |doing: &str| failed(&format_args!("context deadline exceeded (Client.Timeout {doing})"));
        let Ok(answered) = timeout_at(deadline, self.answer(&query, &body))
            .instrument(stage!("webhook", url = self.url))
            .await
        else {
            return Err(late("exceeded while awaiting headers"));
        };
        let (answer, sender, prepared) = answered.map_err(|error| failed(&error))?;
        drop(body);
        let (head, incoming) = answer.into_parts();
        let is_success = (StatusCode::OK..=StatusCode::PARTIAL_CONTENT).contains(&head.status);
        if !is_success {
            let text = timeout_at(deadline, refused(head.status, &head.headers, incoming)).await;
            return Err(WebhookError(text.map_err(|_| late("or context cancellation while reading body"))?));
        }
        match timeout_at(deadline, read(incoming, max_answer_bytes)).await {
            Ok(Ok(body)) => {
                self.keep(sender, &prepared);
                Ok(body)
            }
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(late("or context cancellation while reading body")),
        }
    }

    /// Sends a request over a kept connection, or else a new one, and returns the head of the answer with the connection.
    async fn answer(
        &self,
        query: &str,
        body: &Bytes,
    ) -> Result<(Response<Incoming>, SendRequest<Full<Bytes>>, Arc<Prepared>), CallError> {
        let prepared = self.files.current().await;
        while let Some(mut sender) = self.kept(&prepared) {
            match self.send(&mut sender, query, body, &prepared, true).await {
                Ok(answer) => return Ok((answer, sender, prepared)),
                Err(CallError::Closed) => {}
                Err(error) => return Err(error),
            }
        }
        let stream = self.dial(&prepared).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends with the sender and the answer's body.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to a webhook ended: {error}");
            }
        });
        let answer = self.send(&mut sender, query, body, &prepared, false).await?;
        Ok((answer, sender, prepared))
    }

    async fn send(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        query: &str,
        body: &Bytes,
        prepared: &Prepared,
        is_used: bool,
    ) -> Result<Response<Incoming>, CallError> {
        if is_used && sender.ready().await.is_err() {
            return Err(CallError::Closed);
        }
        let uri = format!("{}?{query}", self.path);
        let mut request = Request::post(uri);
        if let Some(context) = telemetry::present() {
            request = request.header(TRACEPARENT, context.to_string());
        }
        let mut request = request
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, SERVER_VERSION)
            .body(Full::new(body.clone()))?;
        request.headers_mut().extend(prepared.headers.clone());
        sender
            .send_request(request)
            .await
            .map_err(|error| if is_used && is_closed(&error) { CallError::Closed } else { error.into() })
    }

    async fn dial(&self, prepared: &Prepared) -> Result<Box<dyn Connection>, DialError> {
        let egress = self.resolver.egress();
        let (route, target) = match &self.place {
            Place::Host { host, port } => {
                let route = &egress.control_plane;
                (route, route.resolve(host, *port).await?)
            }
            Place::Service { namespace, name, port } => {
                let host = self.resolver.host(namespace, name, *port).await?;
                let target = egress.cluster.resolve(&host, *port).await?;
                if let Err(refused) = target.check(self.resolver.reach()) {
                    if !self.has_logged_refusal.swap(true, Ordering::Relaxed) {
                        tracing::warn!(url = self.url, "a webhook cannot be called: {refused}");
                    }
                    return Err(refused);
                }
                (&egress.cluster, target)
            }
        };
        route.connect(&target, &self.server_name, Some(prepared.tls.clone())).await
    }

    /// Returns a connection that was used before, and was made with the present certificate.
    fn kept(&self, prepared: &Prepared) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        idle.retain(|connection| {
            !connection.sender.is_closed()
                && connection.since.elapsed() < IDLE_TIMEOUT
                && Arc::ptr_eq(&connection.tls, &prepared.tls)
        });
        idle.pop().map(|connection| connection.sender)
    }

    /// Keeps a connection for further calls.
    fn keep(&self, sender: SendRequest<Full<Bytes>>, prepared: &Prepared) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE && !sender.is_closed() {
            idle.push(Idle { sender, tls: prepared.tls.clone(), since: Instant::now() });
        }
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
