//! kube-rs over HTTP/2: many watches share a connection, so that a thousand clients fit into a test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use apiserver::testing::{ADMIN_TOKEN, TestServer};
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::Body;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tower::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One connection, reopened when it is lost.
#[derive(Clone)]
struct Http2 {
    address: SocketAddr,
    tls: TlsConnector,
    connection: Arc<Mutex<Option<SendRequest<Body>>>>,
}

/// Returns a kube-rs client with a connection of its own, as an administrator.
pub(crate) fn client(server: &TestServer) -> kube::Client {
    let tls = TlsConnector::from(Arc::new(server.client_tls(&["h2"])));
    kube::Client::new(Http2 { address: server.address(), tls, connection: Arc::default() }, "default")
}

// === impl Http2 ===

impl Http2 {
    async fn connection(&self) -> Result<SendRequest<Body>, BoxError> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        let stream = TcpStream::connect(self.address).await?;
        let stream = self.tls.connect("localhost".try_into()?, stream).await?;
        let (sender, running) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(running);
        *connection = Some(sender.clone());
        Ok(sender)
    }
}

impl Service<Request<Body>> for Http2 {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Incoming>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let own = self.clone();
        Box::pin(async move {
            let mut connection = own.connection().await?;
            *request.uri_mut() = format!("https://localhost{}", request.uri()).parse()?;
            let token = HeaderValue::from_str(&format!("Bearer {ADMIN_TOKEN}"))?;
            request.headers_mut().insert(AUTHORIZATION, token);
            connection.ready().await?;
            Ok(connection.send_request(request).await?)
        })
    }
}
