//! Connections that are kept for further requests.

use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::connector::Connector;

/// Maximum number of unused connections that are kept.
pub(super) const MAX_IDLE: usize = 16;
/// Time for which an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Time after which a silent HTTP/2 connection is checked, and the time that the server has to answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Returns a client that keeps connections. Connections that are silent although they should not be are closed, so that the next
/// request makes a new one.
///
/// Kubernetes concept: `ReadIdleTimeout` and `PingTimeout` of `k8s.io/apimachinery/pkg/util/net`.
pub fn pool<B>(connector: Connector) -> legacy::Client<Connector, B>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    checked_pool(connector, PING_INTERVAL, PING_TIMEOUT)
}

fn checked_pool<B>(
    connector: Connector,
    ping_interval: Duration,
    ping_timeout: Duration,
) -> legacy::Client<Connector, B>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE)
        .http2_keep_alive_interval(ping_interval)
        .http2_keep_alive_timeout(ping_timeout)
        .build(connector)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::pin;
    use std::sync::Arc;

    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::{BodyExt as _, Full};
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use rustls_pki_types::PrivatePkcs8KeyDer;
    use tokio::net::TcpListener;
    use tokio::sync::Notify;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::connector::Place;
    use crate::egress::Route;
    use crate::tls::{Trust, client_config};

    /// Starts a server over HTTP/2, and returns its port. Each connection answers with its number. The first one stops reading
    /// and writing when it is told, and stays open.
    async fn serve(falls_silent: Arc<Notify>) -> u16 {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth();
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (acceptor, falls_silent) = (acceptor.clone(), falls_silent.clone());
                tokio::spawn(async move {
                    let stream = acceptor.accept(stream).await.unwrap();
                    let service = service_fn(move |_| async move {
                        let number = Bytes::from(number.to_string());
                        Ok::<_, Infallible>(Response::new(Full::new(number)))
                    });
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
                    tokio::select! {
                        _ = &mut connection => {}
                        () = falls_silent.notified(), if number == 0 => std::future::pending().await,
                    }
                });
            }
        });
        port
    }

    #[tokio::test]
    async fn a_connection_that_falls_silent_is_left_for_a_new_one() {
        let falls_silent = Arc::new(Notify::new());
        let port = serve(falls_silent.clone()).await;
        let place = Place::Host { host: "127.0.0.1".to_owned(), port };
        let tls = client_config(Trust::Any, None, &[b"h2"]).unwrap();
        let connector = Connector::new(place, "localhost".to_owned(), Route::Direct, Some(tls));
        let (interval, timeout) = (Duration::from_millis(50), Duration::from_millis(200));
        let client = checked_pool::<Full<Bytes>>(connector, interval, timeout);
        let ask = async || {
            let request = Request::get(format!("https://localhost:{port}/")).body(Full::default()).unwrap();
            let answer = client.request(request).await.ok()?;
            Some(answer.into_body().collect().await.ok()?.to_bytes())
        };
        assert_eq!(ask().await.as_deref(), Some(&b"0"[..]));
        falls_silent.notify_one();
        // Requests over the silent connection fail when the client closes it.
        let until_answered = async { while ask().await.as_deref() != Some(&b"1"[..]) {} };
        tokio::time::timeout(Duration::from_secs(30), until_answered).await.unwrap();
    }
}
