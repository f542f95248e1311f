//! The connections to a webhook.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::proxy::dial::{connect, resolve};
use crate::proxy::peer_config;
use crate::version::SERVER_VERSION;

use super::config::{Credentials, WebhookConfig};

/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of unused connections that are kept.
const MAX_IDLE: usize = 4;
/// Maximum size of an answer, which is read only to use the connection again.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A client of one webhook.
pub(super) struct Client {
    host: String,
    port: u16,
    /// The value of `Host`.
    authority: HeaderValue,
    path: String,
    server_name: String,
    /// `None` for a webhook without TLS.
    tls: Option<Arc<ClientConfig>>,
    credentials: Credentials,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

// === impl Client ===

impl Client {
    /// # Errors
    /// Fails with a reason if the URL, the certificates or the credentials cannot be used.
    pub(super) fn new(config: WebhookConfig) -> Result<Self, String> {
        let has_scheme = config.server.contains("://");
        let url = if has_scheme { config.server.clone() } else { format!("http://{}", config.server) };
        let uri: Uri = url.parse().map_err(|error| format!("server {url:?}: {error}"))?;
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| format!("server {url:?} names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (default_port, tls) = match uri.scheme_str() {
            Some("https") => {
                (443, Some(peer_config(&config.authorities, config.is_insecure, config.identity)?))
            }
            Some("http") => (80, None),
            _ => return Err(format!("server {url:?} has no scheme of HTTP")),
        };
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
        Ok(Self {
            port: uri.port_u16().unwrap_or(default_port),
            authority: HeaderValue::from_str(authority).map_err(|error| error.to_string())?,
            path,
            server_name: config.server_name.unwrap_or_else(|| host.clone()),
            host,
            tls,
            credentials: config.credentials,
            idle: Mutex::default(),
        })
    }

    /// Sends a body.
    ///
    /// # Errors
    /// Fails with a reason unless the webhook answers with success in time.
    pub(super) async fn post(&self, body: Bytes) -> Result<(), String> {
        let outcome = timeout(TIMEOUT, self.exchange(body)).await;
        let outcome = outcome.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
        outcome.map_err(|reason| format!("Post {:?}: {reason}", self.shown()))
    }

    async fn exchange(&self, body: Bytes) -> Result<(), String> {
        let mut sender = match self.kept() {
            Some(sender) => sender,
            None => self.dial().await?,
        };
        let mut request = Request::post(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, SERVER_VERSION)
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        if let Some(credentials) = self.authorization().await? {
            request.headers_mut().insert(AUTHORIZATION, credentials);
        }
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let read = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        if read.is_ok() {
            self.keep(sender);
        }
        if status.is_success() { Ok(()) } else { Err(format!("the webhook answered with {status}")) }
    }

    async fn dial(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let addresses = resolve(&self.host, self.port).await.map_err(|error| error.to_string())?;
        let stream = connect(&addresses, &self.server_name, self.tls.clone()).await;
        let stream = stream.map_err(|error| error.to_string())?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // Ends with the sender.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to the audit webhook ended: {error}");
            }
        });
        Ok(sender)
    }

    async fn authorization(&self) -> Result<Option<HeaderValue>, String> {
        let text = match &self.credentials {
            Credentials::None => return Ok(None),
            Credentials::Token(token) => format!("Bearer {token}"),
            Credentials::TokenFile(path) => {
                let read = tokio::fs::read_to_string(path).await;
                let token = read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                format!("Bearer {}", token.trim())
            }
            Credentials::Basic(name, password) => {
                format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
            }
        };
        let mut value = HeaderValue::from_str(&text).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    fn shown(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority.to_str().unwrap_or_default(), self.path)
    }

    fn kept(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(SendRequest::is_ready);
        idle.pop()
    }

    fn keep(&self, sender: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(sender);
        }
    }
}
