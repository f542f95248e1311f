//! A TLS server in the process of the test, which answers as the test says.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use http_body::Body;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A server over HTTP/2 or HTTP/1.1. It ends with the test's runtime.
pub struct TlsServer {
    pub address: SocketAddr,
    /// The certificate (PEM) to check it with.
    pub ca_pem: String,
    connections: Arc<AtomicUsize>,
}

/// The certificate of the client, in the extensions of each request.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "not every set of tests looks at it")]
pub struct ClientCertificate(pub Option<CertificateDer<'static>>);

impl TlsServer {
    /// Starts a server with a certificate for these names. Clients may present a certificate of this authority (PEM).
    pub async fn start<H, A, B, E>(names: &[&str], client_authority: Option<&str>, handler: H) -> Self
    where
        H: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self::start_with(rcgen::CertificateParams::new(names).unwrap(), client_authority, handler).await
    }

    /// Starts a server with this self-signed certificate.
    pub async fn start_with<H, A, B, E>(
        parameters: rcgen::CertificateParams,
        client_authority: Option<&str>,
        handler: H,
    ) -> Self
    where
        H: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config(
            certificate.der().clone(),
            PrivatePkcs8KeyDer::from(key.serialize_der()),
            client_authority,
        )));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicUsize>::default();
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (handler, acceptor, counted) = (handler.clone(), acceptor.clone(), counted.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    counted.fetch_add(1, Ordering::SeqCst);
                    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).cloned();
                    let service = service_fn(move |mut request: Request<Incoming>| {
                        request.extensions_mut().insert(ClientCertificate(shown.clone()));
                        handler(request)
                    });
                    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, ca_pem: certificate.pem(), connections }
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Returns the certificate as objects of the API name it.
    pub fn ca_bundle(&self) -> String {
        STANDARD.encode(&self.ca_pem)
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn config(
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    client_authority: Option<&str>,
) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let verifier: Arc<dyn ClientCertVerifier> = match client_authority {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            verifier.allow_unauthenticated().build().unwrap()
        }
    };
    let mut config =
        builder.with_client_cert_verifier(verifier).with_single_cert(vec![certificate], key.into()).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}
