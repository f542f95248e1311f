//! An HTTPS server in the process of the test, which answers as the test says.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use parking_lot::Mutex;

use crate::tls_server::TlsServer;

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

type Answers = Box<dyn Fn(&Received) -> (u16, String) + Send + Sync>;

/// The server. It ends with the test's runtime.
pub struct HttpsPeer {
    server: TlsServer,
    state: Arc<State>,
}

struct State {
    answers: Mutex<Arc<Answers>>,
    received: Mutex<Vec<Received>>,
}

impl HttpsPeer {
    pub async fn start(answers: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) -> Self {
        let answers: Answers = Box::new(answers);
        let state = Arc::new(State { answers: Mutex::new(Arc::new(answers)), received: Mutex::default() });
        let serving = state.clone();
        let server =
            TlsServer::start(&["127.0.0.1"], None, move |request| answer(serving.clone(), request)).await;
        Self { server, state }
    }

    pub fn url(&self) -> String {
        self.server.url("")
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the certificate (PEM) to check it with.
    pub fn ca_pem(&self) -> &str {
        &self.server.ca_pem
    }

    /// Changes how the server answers.
    pub fn answer(&self, answers: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) {
        let answers: Answers = Box::new(answers);
        *self.state.answers.lock() = Arc::new(answers);
    }

    /// Returns the requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().clone()
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let received = Received { path: head.uri.path().to_owned(), headers: head.headers, body };
    state.received.lock().push(received.clone());
    let answers = state.answers.lock().clone();
    let (status, text) = answers(&received);
    Ok(Response::builder().status(status).body(Full::new(Bytes::from(text))).unwrap())
}
