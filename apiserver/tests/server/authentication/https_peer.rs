//! An HTTPS server in the process of the test, which answers as the test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

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
    pub address: SocketAddr,
    /// The certificate (PEM) to check it with.
    pub ca_pem: String,
    state: Arc<State>,
}

struct State {
    answers: Mutex<Arc<Answers>>,
    received: Mutex<Vec<Received>>,
}

impl HttpsPeer {
    pub async fn start(answers: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls_pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            );
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Answers = Box::new(answers);
        let state = Arc::new(State { answers: Mutex::new(Arc::new(answers)), received: Mutex::default() });
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, acceptor) = (serving.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| answer(state.clone(), request));
                    let builder = hyper::server::conn::http1::Builder::new();
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, ca_pem: certificate.pem(), state }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Changes how the server answers.
    pub fn answer(&self, answers: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) {
        let answers: Answers = Box::new(answers);
        *self.state.answers.lock().unwrap() = Arc::new(answers);
    }

    /// Returns the requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let received = Received { path: head.uri.path().to_owned(), headers: head.headers, body };
    state.received.lock().unwrap().push(received.clone());
    let answers = state.answers.lock().unwrap().clone();
    let (status, text) = answers(&received);
    Ok(Response::builder().status(status).body(Full::new(Bytes::from(text))).unwrap())
}
