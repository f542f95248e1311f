//! A plain HTTP client: one connection, one protocol, no retries.

use std::net::SocketAddr;
use std::sync::Arc;

use apiserver::testing::TestServer;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::KeyPair;
use rustls::ClientConfig;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    Http1,
    Http2,
}

pub enum Connection {
    Http1(conn::http1::SendRequest<Full<Bytes>>),
    Http2 {
        sender: conn::http2::SendRequest<Full<Bytes>>,
        /// The address and settings of a new connection; `None` for the connection of a test itself.
        server: Option<(SocketAddr, Arc<ClientConfig>)>,
        /// Whether the server ends the connection, because the last request was not authenticated.
        is_over: bool,
    },
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The header of the administrator.
pub const ADMIN: (&str, &str) = ("authorization", "Bearer admin-token");

/// Returns a request with these headers and this JSON. Null is not a body, and a patch is merged unless a header says otherwise.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Request<Full<Bytes>> {
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let own = headers.iter().any(|(name, _)| *name == "content-type");
    let first = [("host", "localhost"), ("content-type", media_type)];
    let headers = first.iter().take(if own { 1 } else { 2 }).chain(headers);
    let request = Request::builder().method(method).uri(path);
    let request = headers.fold(request, |request, (name, value)| request.header(*name, *value));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    request.body(Full::new(body.into())).unwrap()
}

/// Returns a POST of an administrator.
pub fn post(path: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let request =
        Request::post(path).header("authorization", "Bearer admin-token").header("host", "localhost");
    request.body(Full::new(Bytes::from(body))).unwrap()
}

/// Returns a TLS connection with this protocol.
pub async fn tls(server: &TestServer, protocol: &str) -> TlsStream<TcpStream> {
    let stream = tls_with(server, Arc::new(server.client_tls(&[protocol]))).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    stream
}

/// Returns a TLS connection with this configuration.
pub async fn tls_with(server: &TestServer, config: Arc<ClientConfig>) -> TlsStream<TcpStream> {
    connect(server.address(), config).await
}

async fn connect(address: SocketAddr, config: Arc<ClientConfig>) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    // Head and body are two writes, of which the second would wait for the acknowledgement of the first.
    stream.set_nodelay(true).unwrap();
    let connector = TlsConnector::from(config);
    connector.connect("localhost".try_into().unwrap(), stream).await.expect("TLS")
}

/// Returns the configuration of a client that shows this certificate, whatever authorities the server names.
pub fn showing(
    server: &TestServer,
    certificate: CertificateDer<'static>,
    key: &KeyPair,
) -> Arc<ClientConfig> {
    let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let signer = rustls::crypto::ring::sign::any_supported_type(&private).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], signer));
    let mut config = server.client_tls(&["h2"]);
    config.client_auth_cert_resolver = Arc::new(shown);
    Arc::new(config)
}

async fn http2(stream: TlsStream<TcpStream>) -> conn::http2::SendRequest<Full<Bytes>> {
    let handshake = conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender
}

impl Connection {
    pub async fn open(server: &TestServer, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::over(tls(server, "http/1.1").await, protocol).await,
            Protocol::Http2 => Self::open_with(server, Arc::new(server.client_tls(&["h2"]))).await,
        }
    }

    /// Returns an HTTP/2 connection with this configuration.
    pub async fn open_with(server: &TestServer, config: Arc<ClientConfig>) -> Self {
        let address = server.address();
        let sender = http2(connect(address, config.clone()).await).await;
        Self::Http2 { sender, server: Some((address, config)), is_over: false }
    }

    /// Returns a connection over TLS with this protocol.
    pub async fn over(stream: TlsStream<TcpStream>, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => {
                let (sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
                tokio::spawn(connection);
                Self::Http1(sender)
            }
            Protocol::Http2 => Self::Http2 { sender: http2(stream).await, server: None, is_over: false },
        }
    }

    pub async fn get(&mut self, path: &str, token: Option<&str>) -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let user = bearer.as_deref().map(|bearer| ("authorization", bearer));
        self.send(request("GET", path, user.as_slice(), &Value::Null)).await
    }

    /// Sends a request of the administrator with this JSON, as [`request`] says.
    pub async fn call(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(request(method, path, &[ADMIN], body)).await
    }

    /// Returns the body of an answer to the administrator while it arrives.
    pub async fn stream(&mut self, path: &str) -> Incoming {
        self.begin(request("GET", path, &[ADMIN], &Value::Null)).await.expect("an answer").into_body()
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Answer {
        self.try_send(request).await.expect("an answer")
    }

    /// Returns `None` if the server closed the connection.
    pub async fn try_send(&mut self, request: Request<Full<Bytes>>) -> Option<Answer> {
        let (parts, body) = self.begin(request).await?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    async fn begin(&mut self, mut request: Request<Full<Bytes>>) -> Option<http::Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await.ok()?;
                sender.send_request(request).await.ok()
            }
            Self::Http2 { sender, server, is_over } => {
                if let (true, Some((address, config))) = (*is_over, server) {
                    *sender = http2(connect(*address, config.clone()).await).await;
                }
                let has_token = request.headers().contains_key("authorization");
                request.headers_mut().remove("host");
                let uri = format!("https://localhost{}", request.uri());
                *request.uri_mut() = uri.parse().unwrap();
                let answer = sender.send_request(request).await.ok()?;
                *is_over = !has_token || answer.status() == 401;
                Some(answer)
            }
        }
    }
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
