//! A peer of proxied requests: a kubelet or a pod on this machine that reports what it received.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Starts a peer, which ends with the test's runtime.
pub async fn start(is_kubelet: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = is_kubelet.then(|| acceptor("node").0);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    None => serve(stream).await,
                    Some(acceptor) => serve(acceptor.accept(stream).await.unwrap()).await,
                }
            });
        }
    });
    address
}

/// Returns an acceptor with a self-signed certificate of this name, as kubelets have, and the certificate (PEM).
pub fn acceptor(name: &str) -> (TlsAcceptor, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls_pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        );
    (TlsAcceptor::from(Arc::new(config.unwrap())), certificate.pem())
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .with_upgrades();
    let _ = connection.await;
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.headers().contains_key("upgrade") {
        let upgraded = hyper::upgrade::on(&mut request);
        let path = request.uri().to_string();
        tokio::spawn(async move {
            let mut stream = TokioIo::new(upgraded.await.unwrap());
            stream.write_all(format!("hello from {path}\n").as_bytes()).await.unwrap();
            let mut line = [0; 64];
            while let Ok(read @ 1..) = stream.read(&mut line).await {
                stream.write_all(&line[..read].to_ascii_uppercase()).await.unwrap();
            }
        });
        let response = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header("connection", "upgrade")
            .header("upgrade", "SPDY/3.1")
            .header("x-stream-protocol-version", "v4.channel.k8s.io");
        return Ok(response.body(Full::default()).unwrap());
    }
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    if parts.uri.path().ends_with("/away") {
        let response = Response::builder().status(302).header("location", "/home?x=1");
        return Ok(response.body(Full::default()).unwrap());
    }
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let message = json!({
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "body": String::from_utf8_lossy(&body),
        "authorization": header("authorization"),
        "impersonate": header("impersonate-user"),
        "own": header("x-own"),
        "forwarded": header("x-forwarded-uri"),
    });
    let response = Response::builder()
        .header("content-type", "application/json")
        .header("access-control-allow-origin", "*")
        .header("x-peer", "yes");
    Ok(response.body(Full::from(message.to_string())).unwrap())
}
