//! A client of a service that a kubeconfig names: a POST of JSON over TLS, for webhooks of the server's operator.
//!
//! The certificate of the service is always verified. Redirects are never followed, answers are bounded, and connections are
//! kept for further calls.
//!
//! Kubernetes concept: `LoadKubeconfig` of `k8s.io/apiserver/pkg/util/webhook`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::proxy::dial::{connect, resolve};
use crate::version::SERVER_VERSION;

mod file;

/// Maximum number of calls at once; others wait for their turn, within their time.
const MAX_CALLS: usize = 128;
/// Maximum number of connections that are kept for further calls.
const MAX_IDLE: usize = 16;
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// The port of URLs that name none.
const DEFAULT_PORT: u16 = 443;

/// A client of one service.
pub(crate) struct KubeconfigClient {
    /// The URL, as in messages.
    url: String,
    host: String,
    port: u16,
    /// The value of `Host`.
    authority: HeaderValue,
    path: String,
    /// The name in the service's certificate.
    server_name: String,
    tls: Arc<ClientConfig>,
    credentials: Credentials,
    calls: Semaphore,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

/// What a request is authenticated with, besides the certificate of the connection.
enum Credentials {
    None,
    Fixed(HeaderValue),
    /// A bearer token that is read for every call, because it changes.
    TokenFile(PathBuf),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFailure {
    /// The reason.
    pub(crate) text: String,
    /// Whether another attempt may succeed.
    pub(crate) is_temporary: bool,
}

// === impl KubeconfigClient ===

impl KubeconfigClient {
    /// Reads a kubeconfig: the cluster of its current context is the service, the user has the credentials.
    ///
    /// # Errors
    /// Fails with a reason if it cannot be used.
    pub(crate) fn from_file(path: &Path) -> Result<Self, String> {
        let loaded = file::load(path).map_err(|reason| format!("{}: {reason}", path.display()))?;
        let uri: Uri = loaded.server.parse().map_err(|error| format!("{:?}: {error}", loaded.server))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("the URL names no host")?;
        if uri.scheme_str() != Some("https") {
            return Err(format!("{:?}: the URL's scheme must be https", loaded.server));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        Ok(Self {
            authority: HeaderValue::from_str(authority).map_err(|error| error.to_string())?,
            port: uri.port_u16().unwrap_or(DEFAULT_PORT),
            path: uri.path().to_owned(),
            server_name: loaded.server_name.unwrap_or_else(|| host.clone()),
            host,
            url: loaded.server,
            tls: loaded.tls,
            credentials: loaded.credentials,
            calls: Semaphore::new(MAX_CALLS),
            idle: Mutex::default(),
        })
    }

    /// Sends a request, and returns the body of an answer of success.
    ///
    /// # Errors
    /// Fails if there is none in time.
    pub(crate) async fn post(&self, body: Bytes, timeout: Duration) -> Result<Bytes, CallFailure> {
        let deadline = Instant::now() + timeout;
        let answered = async {
            let _permit = self.calls.acquire().await.map_err(|error| temporary(error.to_string()))?;
            self.answer(body, timeout).await
        };
        let late = |_| Err(temporary("context deadline exceeded".to_owned()));
        let answered = timeout_at(deadline, answered).await.unwrap_or_else(late);
        answered.map_err(|failure| CallFailure {
            text: format!("Post {:?}: {}", self.url, failure.text),
            ..failure
        })
    }

    async fn answer(&self, body: Bytes, timeout: Duration) -> Result<Bytes, CallFailure> {
        let (answer, sender) = self.exchange(&body, timeout).await?;
        let (head, incoming) = answer.into_parts();
        let read = Limited::new(incoming, MAX_ANSWER_BYTES).collect().await;
        let read = read.map_err(|error| temporary(format!("cannot read the answer: {error}")))?.to_bytes();
        if !head.status.is_success() {
            let is_temporary = matches!(
                head.status,
                StatusCode::INTERNAL_SERVER_ERROR
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::GATEWAY_TIMEOUT
            );
            return Err(CallFailure { text: format!("unexpected status {}", head.status), is_temporary });
        }
        self.keep(sender);
        Ok(read)
    }

    /// Sends a request over a kept connection, or else a new one, and returns the head of the answer with the connection.
    async fn exchange(
        &self,
        body: &Bytes,
        timeout: Duration,
    ) -> Result<(Response<Incoming>, SendRequest<Full<Bytes>>), CallFailure> {
        while let Some(mut sender) = self.kept() {
            // A kept connection may have been closed meanwhile; the service has then not read the request.
            if sender.ready().await.is_ok()
                && let Ok(answer) = sender.send_request(self.request(body, timeout).await?).await
            {
                return Ok((answer, sender));
            }
        }
        let refused = |text: String| CallFailure { text, is_temporary: false };
        let addresses = resolve(&self.host, self.port).await.map_err(|error| refused(error.to_string()))?;
        let stream = connect(&addresses, &self.server_name, Some(self.tls.clone())).await;
        let stream = stream.map_err(|error| refused(error.to_string()))?;
        let broken = |error: hyper::Error| temporary(error.to_string());
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the sender and the answer's body.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to a webhook ended: {error}");
            }
        });
        let request = self.request(body, timeout).await?;
        let answer = sender.send_request(request).await.map_err(broken)?;
        Ok((answer, sender))
    }

    async fn request(&self, body: &Bytes, timeout: Duration) -> Result<Request<Full<Bytes>>, CallFailure> {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        let mut request = Request::post(format!("{path}?timeout={}s", timeout.as_secs().max(1)))
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, SERVER_VERSION);
        if let Some(credentials) = self.credentials.header().await? {
            request = request.header(AUTHORIZATION, credentials);
        }
        let refused = |error: http::Error| CallFailure { text: error.to_string(), is_temporary: false };
        request.body(Full::new(body.clone())).map_err(refused)
    }

    fn kept(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|sender| !sender.is_closed());
        idle.pop()
    }

    fn keep(&self, sender: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }
}

fn temporary(text: String) -> CallFailure {
    CallFailure { text, is_temporary: true }
}

// === impl Credentials ===

impl Credentials {
    async fn header(&self) -> Result<Option<HeaderValue>, CallFailure> {
        let path = match self {
            Self::None => return Ok(None),
            Self::Fixed(value) => return Ok(Some(value.clone())),
            Self::TokenFile(path) => path,
        };
        let refused = |reason: String| CallFailure {
            text: format!("cannot read the token file {}: {reason}", path.display()),
            is_temporary: false,
        };
        let token = tokio::fs::read_to_string(path).await.map_err(|error| refused(error.to_string()))?;
        bearer(token.trim()).map(Some).map_err(refused)
    }
}

/// Returns the header of a bearer token.
fn bearer(token: &str) -> Result<HeaderValue, String> {
    secret(&format!("Bearer {token}"))
}

/// Returns a header that is not logged.
fn secret(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text).map_err(|_| "the credentials contain control characters")?;
    value.set_sensitive(true);
    Ok(value)
}
