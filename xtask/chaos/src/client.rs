//! A client of all servers: HTTP/2 over TLS, one connection to each server for requests and one for each watch.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use certificates::any_certificate;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Failure;

/// The token of a client that may do everything.
pub(crate) const TOKEN: &str = "chaos-token";

/// The token of a client that has the rights of a role, until they are revoked.
pub(crate) const GUEST_TOKEN: &str = "guest-token";

/// Time after which a client no longer waits for an answer, unless it is told otherwise: it notices links on which nothing passes.
const PATIENCE: Duration = Duration::from_secs(4);

/// Time after which a request that is repeated fails for good.
const LONGEST: Duration = Duration::from_mins(5);

/// Pause after a connection could not be opened, and before a request is repeated.
const AGAIN: Duration = Duration::from_millis(100);

/// A client. It sends one request at a time.
pub(crate) struct Client {
    ports: Vec<u16>,
    connector: TlsConnector,
    connections: Vec<Option<SendRequest<Full<Bytes>>>>,
    patience: Duration,
}

/// A request.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path, with its query.
    pub(crate) path: String,
    /// The media type of the body.
    pub(crate) content_type: &'static str,
    pub(crate) body: Option<Value>,
    pub(crate) token: &'static str,
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Whether the server names the time after which it is to be asked again.
    pub(crate) has_retry_after: bool,
    /// The JSON value; answers in another form are a text.
    pub(crate) body: Value,
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// Nothing was sent.
    #[error("not sent: {0}")]
    NotSent(Failure),
    /// The server did not act on the request: it said so, or the connection was at its end.
    #[error("refused: {0}")]
    Refused(Failure),
    /// It is not known whether the server acts on the request.
    #[error("no answer: {0}")]
    NoAnswer(Failure),
}

// === impl Request ===

impl Request {
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, content_type: "application/json", body: None, token: TOKEN }
    }

    pub(crate) fn with_body(method: Method, path: String, body: Value) -> Self {
        Self { method, body: Some(body), ..Self::get(path) }
    }

    pub(crate) fn patch(path: String, content_type: &'static str, body: Value) -> Self {
        Self { content_type, ..Self::with_body(Method::PATCH, path, body) }
    }

    /// Sends another token.
    pub(crate) fn with_token(self, token: &'static str) -> Self {
        Self { token, ..self }
    }
}

// === impl Reply ===

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the `reason` and the `message` of a Status.
    pub(crate) fn reason(&self) -> String {
        let text = |name| self.body.get(name).and_then(Value::as_str).unwrap_or_default();
        format!("{} {} {}", self.status, text("reason"), text("message"))
    }

    /// Whether the message of a Status or of one of its causes has these words.
    pub(crate) fn says(&self, words: &str) -> bool {
        let causes = self.body.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
        let mut messages =
            causes.chain([&self.body]).filter_map(|part| part.get("message").and_then(Value::as_str));
        messages.any(|message| message.contains(words))
    }
}

// === impl Client ===

impl Client {
    /// Creates a client of servers at these loopback ports.
    pub(crate) fn new(ports: &[u16]) -> Result<Self, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // The servers run on this machine, with certificates of their own.
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(any_certificate())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let connections = ports.iter().map(|_| None).collect();
        let connector = TlsConnector::from(Arc::new(tls));
        Ok(Self { ports: ports.to_vec(), connector, connections, patience: PATIENCE })
    }

    /// Waits for this time for connections and answers.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn request(&mut self, server: usize, request: Request) -> Result<Reply, RequestError> {
        let reused = self.connections.get_mut(server).and_then(Option::take);
        let mut sender = match reused.filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => match self.connect(server).await {
                Ok(sender) => sender,
                Err(error) => {
                    sleep(AGAIN).await;
                    return Err(RequestError::NotSent(error));
                }
            },
        };
        let request = built(request).map_err(RequestError::NotSent)?;
        let exchange = async {
            let response = match sender.try_send_request(request).await {
                Ok(response) => response,
                Err(error) if error.message().is_some() => {
                    return Err(RequestError::Refused(error.into_error().into()));
                }
                Err(error) => return Err(without_answer(&error.into_error())),
            };
            let status = response.status().as_u16();
            let has_retry_after = response.headers().contains_key("retry-after");
            let media_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
            let is_json = media_type.is_some_and(|media_type| media_type.starts_with("application/json"));
            let bytes =
                response.into_body().collect().await.map_err(|error| without_answer(&error))?.to_bytes();
            let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
            let body = match is_json.then(|| serde_json::from_slice(&bytes)) {
                Some(parsed) => parsed.map_err(|error| RequestError::NoAnswer(error.into()))?,
                None => text(),
            };
            Ok(Reply { status, has_retry_after, body })
        };
        let reply = match timeout(self.patience, exchange).await {
            Ok(reply) => reply?,
            Err(_) => return Err(RequestError::NoAnswer("timeout".into())),
        };
        if let Some(connection) = self.connections.get_mut(server) {
            *connection = Some(sender);
        }
        Ok(reply)
    }

    /// Sends a request again and again, until the answer is as wanted.
    ///
    /// # Errors
    /// Fails if that takes longer than any fault.
    pub(crate) async fn until(
        &mut self,
        server: usize,
        request: impl Fn() -> Request,
        is_wanted: impl Fn(&Reply) -> bool,
    ) -> Result<Reply, Failure> {
        let begun = Instant::now();
        loop {
            let last = match self.request(server, request()).await {
                Ok(reply) if is_wanted(&reply) => return Ok(reply),
                Ok(reply) => reply.reason(),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > LONGEST {
                let Request { method, path, .. } = request();
                return Err(
                    format!("server-{server} does not answer {method} {path} as it should: {last}").into()
                );
            }
            sleep(AGAIN).await;
        }
    }

    /// Opens a watch on a connection of its own, which lives as long as the returned sender.
    pub(crate) async fn watch(
        &self,
        server: usize,
        path: String,
    ) -> Result<(SendRequest<Full<Bytes>>, Response<Incoming>), Failure> {
        let mut sender = self.connect(server).await?;
        let response = timeout(self.patience, sender.send_request(built(Request::get(path))?)).await??;
        Ok((sender, response))
    }

    /// Returns the certificate that a server presents to a new connection.
    pub(crate) async fn certificate(&self, server: usize) -> Result<Vec<u8>, Failure> {
        let stream = timeout(self.patience, self.open(server)).await??;
        let (_, session) = stream.get_ref();
        let first = session.peer_certificates().and_then(<[_]>::first).ok_or("no certificate")?;
        Ok(first.to_vec())
    }

    async fn open(&self, server: usize) -> Result<TlsStream<TcpStream>, Failure> {
        let port = *self.ports.get(server).ok_or("there is no such server")?;
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(self.connector.connect(ServerName::try_from("127.0.0.1")?, stream).await?)
    }

    async fn connect(&self, server: usize) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let connecting = async {
            let stream = self.open(server).await?;
            let (sender, connection) =
                http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            Ok(sender)
        };
        timeout(self.patience, connecting).await?
    }
}

/// Returns the meaning of an error of a connection. A server that ends names the last request that it acts on, and refuses those behind
/// it, which the client libraries then send elsewhere.
fn without_answer(error: &hyper::Error) -> RequestError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        text = format!("{text}: {reason}");
        source = reason.source();
    }
    let is_refused = ["refused stream", "not a result of an error"].iter().any(|known| text.contains(known));
    let failure: Failure = text.into();
    if is_refused { RequestError::Refused(failure) } else { RequestError::NoAnswer(failure) }
}

fn built(request: Request) -> Result<hyper::Request<Full<Bytes>>, Failure> {
    let body = request.body.map(|body| body.to_string()).unwrap_or_default();
    Ok(hyper::Request::builder()
        .method(request.method)
        .uri(format!("https://127.0.0.1{}", request.path))
        .header("authorization", format!("Bearer {}", request.token))
        .header("accept", "application/json")
        .header("content-type", request.content_type)
        .body(Full::new(Bytes::from(body)))?)
}
