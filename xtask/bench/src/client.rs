//! A small HTTP/2 client over TLS: one connection per load client, as real clients have.

use std::sync::Arc;

use bytes::Bytes;
use certificates::any_certificate;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Failure;

/// The media type of JSON.
const JSON: &str = "application/json";

/// The address of a server and the credentials for it.
#[derive(Clone)]
pub(crate) struct Client {
    authority: String,
    host: String,
    port: u16,
    token: String,
    connector: TlsConnector,
}

/// One HTTP/2 connection; clones share it.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    authorization: String,
    accept_encoding: &'static str,
}

/// A request.
pub(crate) struct Request<'a> {
    /// The method.
    pub(crate) method: Method,
    /// The path, with its query.
    pub(crate) path: &'a str,
    /// The media types of the response.
    pub(crate) accept: &'a str,
    /// The media type of the body.
    pub(crate) content_type: &'a str,
    /// The body.
    pub(crate) body: Bytes,
}

// === impl Request ===

impl<'a> Request<'a> {
    /// Returns a request for an object or a list, in one of these media types.
    pub(crate) fn get(path: &'a str, accept: &'a str) -> Self {
        Self { method: Method::GET, path, accept, content_type: JSON, body: Bytes::new() }
    }

    /// Returns a request that writes an object.
    pub(crate) fn write(method: Method, path: &'a str, body: Bytes) -> Self {
        Self { method, path, accept: JSON, content_type: JSON, body }
    }

    /// Returns a JSON merge patch.
    pub(crate) fn merge_patch(path: &'a str, body: Bytes) -> Self {
        let content_type = "application/merge-patch+json";
        Self { method: Method::PATCH, path, accept: JSON, content_type, body }
    }
}

// === impl Client ===

impl Client {
    /// Creates a client of the server at an `https://` URL.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, Failure> {
        let uri: hyper::Uri = url.parse().map_err(|error| format!("--server {url}: {error}"))?;
        let host = uri.host().ok_or_else(|| format!("--server {url}: no host"))?.to_owned();
        let port = uri.port_u16().unwrap_or(443);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // The servers run on this machine, with certificates of their own.
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(any_certificate())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            authority: format!("{host}:{port}"),
            host,
            port,
            token: token.to_owned(),
            connector: TlsConnector::from(Arc::new(tls)),
        })
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot connect to {}: {error}", self.authority);
        let stream =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|error| failed(&error))?;
        let stream = self.connector.connect(name, stream).await.map_err(|error| failed(&error))?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .max_frame_size(1 << 16)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            authority: self.authority.clone(),
            authorization: format!("Bearer {}", self.token),
            accept_encoding: "identity",
        })
    }
}

impl Connection {
    /// Returns the same connection, requesting compressed responses as client-go does.
    pub(crate) fn with_gzip(self) -> Self {
        Self { accept_encoding: "gzip", ..self }
    }

    /// Requests a watch or an object, and returns the response once its headers have arrived.
    pub(crate) async fn open(&mut self, path: &str) -> Result<Response<Incoming>, Failure> {
        self.send(Request::get(path, JSON)).await
    }

    /// Sends a request and returns the response once its headers have arrived.
    async fn send(&mut self, request: Request<'_>) -> Result<Response<Incoming>, Failure> {
        let path = request.path;
        let request = hyper::Request::builder()
            .method(request.method)
            .uri(format!("https://{}{path}", self.authority))
            .header("authorization", &self.authorization)
            .header("accept", request.accept)
            .header("accept-encoding", self.accept_encoding)
            .header("content-type", request.content_type)
            .body(Full::new(request.body))?;
        self.sender.ready().await?;
        self.sender.send_request(request).await.map_err(|error| format!("{path}: {error}").into())
    }

    /// Sends a request, reads the whole response and returns its length in bytes. Fails unless the status is 2xx.
    pub(crate) async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<usize, Failure> {
        self.exchange_as(Request { method, path, accept: JSON, content_type: JSON, body }).await
    }

    /// Like [`exchange`](Self::exchange), with the request's own media types.
    pub(crate) async fn exchange_as(&mut self, request: Request<'_>) -> Result<usize, Failure> {
        let mut length_bytes = 0;
        self.receive(request, |data| length_bytes += data.len()).await?;
        Ok(length_bytes)
    }

    /// Like [`exchange_as`](Self::exchange_as), but returns the response.
    pub(crate) async fn fetch(&mut self, request: Request<'_>) -> Result<Vec<u8>, Failure> {
        let mut response = Vec::new();
        self.receive(request, |data| response.extend_from_slice(data)).await?;
        Ok(response)
    }

    /// Sends a request and passes on the pieces of the response. Fails unless the status is 2xx.
    async fn receive(
        &mut self,
        request: Request<'_>,
        mut receive: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Failure> {
        let path = request.path;
        let response = self.send(request).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut start = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("{path}: {error}"))?;
            if let Some(data) = frame.data_ref() {
                receive(data);
                if !status.is_success() && start.len() < 500 {
                    start.extend_from_slice(data);
                }
            }
        }
        if status.is_success() {
            return Ok(());
        }
        Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&start)).into())
    }
}
