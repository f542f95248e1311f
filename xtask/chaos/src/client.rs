//! A client of all servers: HTTP/2 over TLS, one connection to each server for requests and one for each watch.

use std::sync::Arc;
use std::time::Duration;

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

use crate::Failure;

/// The token of all clients.
pub(crate) const TOKEN: &str = "chaos-token";

/// Time after which a client no longer waits for an answer, unless it is told otherwise: it notices links on which nothing passes.
const PATIENCE: Duration = Duration::from_secs(4);

/// Pause after a connection could not be opened.
const AGAIN: Duration = Duration::from_millis(100);

/// A client. It sends one request at a time.
pub(crate) struct Client {
    ports: Vec<u16>,
    connector: TlsConnector,
    connections: Vec<Option<SendRequest<Full<Bytes>>>>,
    patience: Duration,
}

/// A request.
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path, with its query.
    pub(crate) path: String,
    /// The media type of the body.
    pub(crate) content_type: &'static str,
    pub(crate) body: Option<Value>,
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The JSON value; answers in another form are a text.
    pub(crate) body: Value,
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// Nothing was sent.
    #[error("not sent: {0}")]
    NotSent(Failure),
    /// It is not known whether the server acts on the request.
    #[error("no answer: {0}")]
    NoAnswer(Failure),
}

// === impl Request ===

impl Request {
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, content_type: "application/json", body: None }
    }

    pub(crate) fn with_body(method: Method, path: String, body: Value) -> Self {
        Self { method, path, content_type: "application/json", body: Some(body) }
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
        let exchange = async {
            let response = sender.send_request(built(request)?).await?;
            let status = response.status().as_u16();
            let media_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
            let is_json = media_type.is_some_and(|media_type| media_type.starts_with("application/json"));
            let bytes = response.into_body().collect().await?.to_bytes();
            let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
            let body = if is_json { serde_json::from_slice(&bytes)? } else { text() };
            Ok::<Reply, Failure>(Reply { status, body })
        };
        let reply = match timeout(self.patience, exchange).await {
            Ok(reply) => reply.map_err(RequestError::NoAnswer)?,
            Err(_) => return Err(RequestError::NoAnswer("timeout".into())),
        };
        if let Some(connection) = self.connections.get_mut(server) {
            *connection = Some(sender);
        }
        Ok(reply)
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

    async fn connect(&self, server: usize) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let port = *self.ports.get(server).ok_or("there is no such server")?;
        let connecting = async {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            let stream = self.connector.connect(ServerName::try_from("127.0.0.1")?, stream).await?;
            let (sender, connection) =
                http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            Ok(sender)
        };
        timeout(self.patience, connecting).await?
    }
}

fn built(request: Request) -> Result<hyper::Request<Full<Bytes>>, Failure> {
    let body = request.body.map(|body| body.to_string()).unwrap_or_default();
    Ok(hyper::Request::builder()
        .method(request.method)
        .uri(format!("https://127.0.0.1{}", request.path))
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("accept", "application/json")
        .header("content-type", request.content_type)
        .body(Full::new(Bytes::from(body)))?)
}
