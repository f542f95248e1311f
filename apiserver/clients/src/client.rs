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

use super::answer::{is_retryable, read};
use super::connector::{Connector, HasAnswered, Place};
use super::error::SettingsError;
use super::failure::CallFailure;
use super::files::{Followed, Prepared};
use super::pool::{self, MAX_IDLE};
use super::settings::ClientSettings;

/// The protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Maximum number of calls at once; others wait for their turn, within their time.
const MAX_CALLS: usize = 128;

/// A client of one server.
pub struct Client {
    /// The URL without a trailing slash.
    base: String,
    /// Makes the connections, with the TLS configuration that is current then.
    connector: Connector,
    is_encrypted: bool,
    files: Followed,
    pooled: ArcSwap<Pooled>,
    /// `None` if callers bound their calls.
    calls: Option<Semaphore>,
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
        let connector = Connector::new(place, server_name, settings.route.clone(), None);
        Self::with_connector(settings, connector, is_encrypted, &PROTOCOLS)
    }

    /// Creates a client of a server over TLS whose connections this connector makes. They speak the first of these protocols
    /// that the server has.
    ///
    /// # Errors
    /// Fails with a reason if a certificate, a key or other credentials cannot be used.
    pub fn connecting(
        settings: ClientSettings,
        connector: Connector,
        protocols: &'static [&'static [u8]],
    ) -> Result<Self, SettingsError> {
        Self::with_connector(settings, connector, true, protocols)
    }

    fn with_connector(
        settings: ClientSettings,
        connector: Connector,
        is_encrypted: bool,
        protocols: &'static [&'static [u8]],
    ) -> Result<Self, SettingsError> {
        let base = settings.server.split(['?', '#']).next().unwrap_or_default();
        let base = base.trim_end_matches('/').to_owned();
        let files = Followed::new(settings, protocols)?;
        let tls = files.current_now().tls.clone();
        let pooled = ArcSwap::from_pointee(Pooled::new(&connector, is_encrypted, tls));
        Ok(Self { base, connector, is_encrypted, files, pooled, calls: Some(Semaphore::new(MAX_CALLS)) })
    }

    /// Removes the limit of calls at once: the caller bounds them by the user or address on whose behalf it calls.
    #[must_use]
    pub fn without_call_limit(self) -> Self {
        Self { calls: None, ..self }
    }

    /// Sends a request to the server's URL itself, and returns the body of an answer of success.
    ///
    /// # Errors
    /// Fails if there is none within the bounds.
    pub async fn post(&self, body: Bytes, bounds: Bounds) -> Result<Bytes, CallFailure> {
        self.call(Method::POST, "", body, bounds).await
    }

    /// Sends a request to a path below the server's URL, and returns the body of an answer of success. A body is JSON. If a
    /// kept connection was closed, a request that only reads is sent again, and another one if nothing of it was written.
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
            let _permit = match &self.calls {
                Some(calls) => Some(calls.acquire().await),
                None => None,
            };
            self.answer(request, bounds.max_answer_bytes).await
        });
        let answered = answered.await.unwrap_or(Err(CallFailure::Late));
        answered.map_err(|source| CallFailure::Request { method, url: url.to_owned(), source: source.into() })
    }

    /// Sends a request whose URI is a path below the server's URL, and returns the answer, whose body may be a stream without
    /// end. A request that only reads is sent again if a kept connection was closed.
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
        let is_repeatable = request.method().is_safe();
        self.exchange_heads(request, is_repeatable).await
    }

    async fn answer(&self, request: Request<Full<Bytes>>, max_bytes: usize) -> Result<Bytes, CallFailure> {
        let is_repeatable = request.method().is_safe();
        let (head, incoming) = self.exchange_heads(request, is_repeatable).await?.into_parts();
        let read = read(incoming, max_bytes).await;
        let read = read.map_err(|error| CallFailure::Unreadable(error.into()))?;
        if head.status.is_success() {
            return Ok(read);
        }
        let asks_for_delay = head.headers.contains_key(RETRY_AFTER);
        Err(CallFailure::Status { status: head.status, asks_for_delay })
    }

    /// Sends a request to a URL of the server, and returns the answer. It is sent again if a kept connection was closed, which
    /// the server may have done after it read the request: it has to be one that may be made twice.
    ///
    /// # Errors
    /// Fails if there is no answer.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallFailure> {
        self.exchange_heads(request, true).await
    }

    async fn exchange_heads(
        &self,
        mut request: Request<Full<Bytes>>,
        is_repeatable: bool,
    ) -> Result<Response<Incoming>, CallFailure> {
        let prepared = self.files.current().await;
        let headers = request.headers_mut();
        let mut default = |name, value| {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        };
        default(CONTENT_TYPE, "application/json");
        default(ACCEPT, "application/json, */*");
        default(USER_AGENT, PRODUCT);
        headers.extend(prepared.headers.clone());
        let pool = self.pool(&prepared);
        let mut kept = if is_repeatable { MAX_IDLE } else { 0 };
        loop {
            match pool.request(request.clone()).await {
                Ok(answer) => {
                    HasAnswered::note(answer.extensions());
                    return Ok(answer);
                }
                Err(error) if kept > 0 && HasAnswered::before(&error) && is_retryable(&error) => kept -= 1,
                Err(error) => return Err(CallFailure::Unanswered(error.into())),
            }
        }
    }

    /// Returns the connections that present the current certificate.
    fn pool(&self, prepared: &Prepared) -> Pool {
        let pooled = self.pooled.load();
        if Arc::ptr_eq(&pooled.tls, &prepared.tls) {
            return pooled.pool.clone();
        }
        let pooled = Pooled::new(&self.connector, self.is_encrypted, prepared.tls.clone());
        let pool = pooled.pool.clone();
        self.pooled.store(Arc::new(pooled));
        pool
    }
}

// === impl Pooled ===

impl Pooled {
    fn new(connector: &Connector, is_encrypted: bool, tls: Arc<ClientConfig>) -> Self {
        let pool = pool::pool(connector.with_tls(is_encrypted.then(|| tls.clone())));
        Self { tls, pool }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpListener;

    use super::*;

    const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(30), max_answer_bytes: 100 };

    /// Starts a server, each of whose connections answers this number of requests, and closes when it has read one more.
    /// Returns its URL, and the number of requests that it has read.
    async fn serve(answers: usize) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let read = Arc::new(AtomicUsize::new(0));
        let counted = read.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (counted, answered) = (counted.clone(), AtomicUsize::new(0));
                let service = service_fn(move |_| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let is_answered = answered.fetch_add(1, Ordering::SeqCst) < answers;
                    async move {
                        let answer = Response::new(Full::<Bytes>::from("yes"));
                        if is_answered { Ok(answer) } else { Err(std::io::Error::other("closed")) }
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        (url, read)
    }

    #[tokio::test]
    async fn reviews_and_reads_are_made_again_when_a_kept_connection_was_closed() {
        let (url, read) = serve(1).await;
        let client = Client::new(ClientSettings::anonymous(url.clone())).unwrap();
        for expected in [1, 3] {
            assert_eq!(client.get(BOUNDS).await.unwrap(), "yes");
            assert_eq!(read.load(Ordering::SeqCst), expected);
        }
        for expected in [5, 7] {
            let review = Request::post(&url).body(Full::default()).unwrap();
            assert!(client.send(review).await.unwrap().status().is_success());
            assert_eq!(read.load(Ordering::SeqCst), expected);
        }
    }

    #[tokio::test]
    async fn a_body_that_a_server_has_read_is_not_posted_again() {
        let (url, read) = serve(1).await;
        let client = Client::new(ClientSettings::anonymous(url)).unwrap();
        assert_eq!(client.post(Bytes::new(), BOUNDS).await.unwrap(), "yes");
        let failure = client.post(Bytes::new(), BOUNDS).await.unwrap_err();
        assert!(failure.to_string().ends_with(": EOF") && failure.is_temporary(), "{failure}");
        assert_eq!(read.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_new_connection_that_is_closed_is_an_error() {
        let (url, read) = serve(0).await;
        let client = Client::new(ClientSettings::anonymous(url)).unwrap();
        let failure = client.post(Bytes::new(), BOUNDS).await.unwrap_err();
        assert!(failure.to_string().ends_with(": EOF") && failure.is_temporary(), "{failure}");
        assert_eq!(read.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn writes_are_not_made_twice() {
        for (method, is_repeated) in [("GET", true), ("POST", false), ("PATCH", false), ("DELETE", false)] {
            let (url, read) = serve(1).await;
            let client = Client::new(ClientSettings::anonymous(url)).unwrap();
            client.get(BOUNDS).await.unwrap();
            let request = Request::builder().method(method).uri("/").body(Full::default()).unwrap();
            assert_eq!(client.open(request).await.is_ok(), is_repeated, "{method}");
            assert_eq!(read.load(Ordering::SeqCst), if is_repeated { 3 } else { 2 }, "{method}");
        }
    }
}
