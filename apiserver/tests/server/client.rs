//! A plain HTTP client: one connection, one protocol, no retries.

use std::sync::Arc;

use apiserver::testing::TestServer;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
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
    Http2(conn::http2::SendRequest<Full<Bytes>>),
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
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
pub async fn tls_with(server: &TestServer, config: Arc<rustls::ClientConfig>) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    // Head and body are two writes, of which the second would wait for the acknowledgement of the first.
    stream.set_nodelay(true).unwrap();
    let connector = TlsConnector::from(config);
    connector.connect("localhost".try_into().unwrap(), stream).await.expect("TLS")
}

impl Connection {
    pub async fn open(server: &TestServer, protocol: Protocol) -> Self {
        let name = match protocol {
            Protocol::Http1 => "http/1.1",
            Protocol::Http2 => "h2",
        };
        Self::over(tls(server, name).await, protocol).await
    }

    /// Returns a connection over TLS with this protocol.
    pub async fn over(stream: TlsStream<TcpStream>, protocol: Protocol) -> Self {
        let stream = TokioIo::new(stream);
        match protocol {
            Protocol::Http1 => {
                let (sender, connection) = conn::http1::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                Self::Http1(sender)
            }
            Protocol::Http2 => {
                let (sender, connection) =
                    conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
                tokio::spawn(connection);
                Self::Http2(sender)
            }
        }
    }

    pub async fn get(&mut self, path: &str, token: Option<&str>) -> Answer {
        let mut request = Request::get(path).header("host", "localhost");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        self.send(request.body(Full::default()).unwrap()).await
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Answer {
        self.try_send(request).await.expect("an answer")
    }

    /// Returns `None` if the server closed the connection.
    pub async fn try_send(&mut self, mut request: Request<Full<Bytes>>) -> Option<Answer> {
        let response: http::Response<Incoming> = match self {
            Self::Http1(sender) => {
                sender.ready().await.ok()?;
                sender.send_request(request).await.ok()?
            }
            Self::Http2(sender) => {
                request.headers_mut().remove("host");
                let uri = format!("https://localhost{}", request.uri());
                *request.uri_mut() = uri.parse().unwrap();
                sender.send_request(request).await.ok()?
            }
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
