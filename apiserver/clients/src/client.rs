//! Requests to one server over pooled connections.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::uri::InvalidUri;
use http::{HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use registry_core::go_duration;
use registry_core::release::PRODUCT;
use rustls::ClientConfig;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::answer::read;
use super::connector::{Connector, Place};
use super::egress::Route;
use super::error::SettingsError;
use super::failure::CallFailure;
use super::files::{Followed, Prepared};
use super::pool;
use super::settings::ClientSettings;

/// The protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Maximum number of calls at once; others wait for their turn, within their time.
const MAX_CALLS: usize = 128;

/// A client of one server.
pub struct Client {
    /// The URL without a trailing slash.
    base: String,
    place: Place,
    server_name: String,
    is_encrypted: bool,
    files: Followed,
    pooled: ArcSwap<Pooled>,
    calls: Semaphore,
}

/// Connections that were made with one TLS configuration.
struct Pooled {
    tls: Arc<ClientConfig>,
    pool: Pool,
}

type Pool = legacy::Client<Connector, Full<Bytes>>;

/// The bounds of a call.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum time until the whole answer is there.
    pub timeout: Duration,
    /// Maximum size of the answer.
    pub max_answer_bytes: usize,
}

// === impl Client ===

impl Client {
    /// Creates a client. Files that the settings name are read now, and again when they change.
    ///
    /// # Errors
    /// Fails with a reason if the URL, a certificate, a key or other credentials cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, SettingsError> {
        let server = &settings.server;
        let uri: Uri =
            server.parse().map_err(|source| SettingsError::Url { server: server.clone(), source })?;
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| SettingsError::NoHost(server.clone()))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (is_encrypted, default_port) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            _ => return Err(SettingsError::Scheme(server.clone())),
        };
        let server_name = settings.server_name.clone().unwrap_or_else(|| host.clone());
        let place = Place::Host { host, port: uri.port_u16().unwrap_or(default_port) };
        let base = server.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_owned();
        let route = settings.route.clone();
        let files = Followed::new(settings, &PROTOCOLS)?;
        let tls = files.current_now().tls.clone();
        let pooled = ArcSwap::from_pointee(Pooled::new(&place, &server_name, route, is_encrypted, tls));
        Ok(Self { base, place, server_name, is_encrypted, files, pooled, calls: Semaphore::new(MAX_CALLS) })
    }

    /// Sends a request to the server's URL itself, and returns the body of an answer of success.
    ///
    /// # Errors
    /// Fails if there is none within the bounds.
    pub async fn post(&self, body: Bytes, bounds: Bounds) -> Result<Bytes, CallFailure> {
        self.call(Method::POST, "", body, bounds).await
    }

    /// Sends a request to a path below the server's URL, and returns the body of an answer of success. A body is JSON.
    ///
    /// # Errors
    /// Fails if there is none within the bounds.
    pub async fn call(
        &self,
        method: Method,
        path_and_query: &str,
        body: Bytes,
        bounds: Bounds,
    ) -> Result<Bytes, CallFailure> {
        let url = format!("{}{path_and_query}", self.base);
        let separator = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{separator}timeout={}", go_duration::format(bounds.timeout));
        self.exchange(method, &url, body, bounds).await
    }

    /// Reads the document at the server's URL.
    ///
    /// # Errors
    /// Fails if there is no answer of success within the bounds.
    pub async fn get(&self, bounds: Bounds) -> Result<Bytes, CallFailure> {
        self.exchange(Method::GET, &self.files.settings().server, Bytes::new(), bounds).await
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        body: Bytes,
        bounds: Bounds,
    ) -> Result<Bytes, CallFailure> {
        let answered = timeout(bounds.timeout, async {
            let request = Request::builder().method(&method).uri(url).body(Full::new(body));
            let request = request.map_err(|error| CallFailure::Malformed(error.into()))?;
            let _permit = self.calls.acquire().await;
            self.answer(request, bounds.max_answer_bytes).await
        });
        let answered = answered.await.unwrap_or(Err(CallFailure::Late));
        answered.map_err(|source| CallFailure::Request { method, url: url.to_owned(), source: source.into() })
    }

    /// Sends a request whose URI is a path below the server's URL, and returns the answer, whose body may be a stream without
    /// end.
    ///
    /// # Errors
    /// Fails if there is no answer.
    pub async fn open(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallFailure> {
        let url = format!("{}{}", self.base, request.uri());
        let uri = url.parse().map_err(|error: InvalidUri| {
            let source = CallFailure::Malformed(Arc::new(error.into()));
            CallFailure::Request { method: request.method().clone(), url: url.clone(), source: source.into() }
        })?;
        *request.uri_mut() = uri;
        self.send(request).await
    }

    async fn answer(&self, request: Request<Full<Bytes>>, max_bytes: usize) -> Result<Bytes, CallFailure> {
        let (head, incoming) = self.send(request).await?.into_parts();
        let read = read(incoming, max_bytes).await;
        let read = read.map_err(|error| CallFailure::Unreadable(error.into()))?;
        if head.status.is_success() {
            return Ok(read);
        }
        let asks_for_delay = head.headers.contains_key(RETRY_AFTER);
        Err(CallFailure::Status { status: head.status, asks_for_delay })
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallFailure> {
        let prepared = self.files.current().await;
        let headers = request.headers_mut();
        let mut default = |name, value| {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        };
        default(CONTENT_TYPE, "application/json");
        default(ACCEPT, "application/json, */*");
        default(USER_AGENT, PRODUCT);
        headers.extend(prepared.headers.clone());
        let answered = self.pool(&prepared).request(request).await;
        answered.map_err(|error| CallFailure::Unanswered(error.into()))
    }

    /// Returns the connections that present the current certificate.
    fn pool(&self, prepared: &Prepared) -> Pool {
        let pooled = self.pooled.load();
        if Arc::ptr_eq(&pooled.tls, &prepared.tls) {
            return pooled.pool.clone();
        }
        let (route, tls) = (self.files.settings().route.clone(), prepared.tls.clone());
        let pooled = Pooled::new(&self.place, &self.server_name, route, self.is_encrypted, tls);
        let pool = pooled.pool.clone();
        self.pooled.store(Arc::new(pooled));
        pool
    }
}

// === impl Pooled ===

impl Pooled {
    fn new(
        place: &Place,
        server_name: &str,
        route: Route,
        is_encrypted: bool,
        tls: Arc<ClientConfig>,
    ) -> Self {
        let used = is_encrypted.then(|| tls.clone());
        let connector = Connector::new(place.clone(), server_name.to_owned(), route, used);
        let pool = pool::pool(connector);
        Self { tls, pool }
    }
}
