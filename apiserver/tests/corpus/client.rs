//! An HTTP client of an administrator, on one connection.

use std::sync::Arc;

use apiserver::testing::TestServer;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub struct Client(SendRequest<Full<Bytes>>);

impl Client {
    pub async fn connect(server: &TestServer) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let connector = TlsConnector::from(Arc::new(server.client_tls(&["http/1.1"])));
        let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Sends a request; returns the status and the decoded body.
    pub async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let media_type =
            if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", "Bearer admin-token")
            .header("accept", "application/json")
            .header("content-type", media_type);
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        self.0.ready().await.unwrap();
        let response = self.0.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}
