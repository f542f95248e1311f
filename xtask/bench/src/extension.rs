//! An extension server in the bench's process, whose cost does not count: it answers each request with one object, and each
//! watch with events at a fixed rate.

use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Interval, interval};
use tokio_rustls::TlsAcceptor;

use crate::Failure;

/// A group that it serves, in version `v1`. It serves all that end in the name of this one.
pub(crate) const GROUP: &str = "aggregated.bench.example.com";
/// Time between two events of a watch.
const EVENT_PERIOD: Duration = Duration::from_millis(1);
/// Size of the field that gives an object about the size of the objects of other stages.
const PADDING_BYTES: usize = 1_000;

/// The server. It ends with the runtime.
pub(crate) struct Extension {
    address: SocketAddr,
    events: Arc<AtomicU64>,
}

/// Events, one per period.
struct Events {
    event: Bytes,
    interval: Interval,
    count: Arc<AtomicU64>,
}

// === impl Extension ===

impl Extension {
    /// Starts it at an address of this machine that servers connect to: not the loopback interface.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot start an extension server: {error}");
        let key = rcgen::KeyPair::generate().map_err(|error| failed(&error))?;
        let names = vec!["extension.default.svc".to_owned()];
        let parameters = rcgen::CertificateParams::new(names).map_err(|error| failed(&error))?;
        let certificate = parameters.self_signed(&key).map_err(|error| failed(&error))?;
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .map_err(|error| failed(&error))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let address = own_address().map_err(|error| failed(&error))?;
        let listener = TcpListener::bind(address).await.map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let events = Arc::<AtomicU64>::default();
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(tls)), events.clone()));
        Ok(Self { address, events })
    }

    /// Returns the Service by which a server finds it.
    pub(crate) fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "extension" },
            "spec": { "type": "ExternalName", "externalName": self.address.ip().to_string() },
        })
    }

    /// Returns the APIService by which a server forwards requests for a group to it.
    pub(crate) fn api_service(&self, group: &str) -> Value {
        let reference = json!({ "namespace": "default", "name": "extension", "port": self.address.port() });
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": { "name": format!("v1.{group}") },
            "spec": {
                "group": group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
                "insecureSkipTLSVerify": true, "service": reference,
            },
        })
    }

    /// Returns the number of events so far, of all watches.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}

/// Returns an address of this machine, with any port. Nothing is sent.
fn own_address() -> std::io::Result<SocketAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect("192.0.2.1:9")?;
    Ok(SocketAddr::new(socket.local_addr()?.ip(), 0))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, events: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, events) = (acceptor.clone(), events.clone());
        tokio::spawn(async move {
            // Fails only if the connection is gone already.
            let _ = stream.set_nodelay(true);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| {
                let response = answer(&request, &events);
                async move { Ok::<_, Infallible>(response) }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            // The client ends the connection.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(
    request: &Request<Incoming>,
    events: &Arc<AtomicU64>,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Thing",
        "metadata": { "name": "one", "namespace": "default", "resourceVersion": "1" },
        "spec": { "padding": "x".repeat(PADDING_BYTES) },
    });
    let segments: Vec<&str> = request.uri().path().split('/').skip(1).collect();
    let body = if request.uri().query().unwrap_or_default().contains("watch=true") {
        let event = format!("{}\n", json!({ "type": "MODIFIED", "object": object }));
        Events { event: event.into(), interval: interval(EVENT_PERIOD), count: events.clone() }.boxed_unsync()
    } else if let ["apis", group, "v1"] = *segments {
        let resource =
            json!({ "name": "things", "namespaced": true, "kind": "Thing", "verbs": ["get", "watch"] });
        let list = json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/v1"), "resources": [resource],
        });
        Full::new(list.to_string().into()).boxed_unsync()
    } else {
        Full::new(object.to_string().into()).boxed_unsync()
    };
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    response
}

// === impl Events ===

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.interval.poll_tick(context).is_pending() {
            return Poll::Pending;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(self.event.clone()))))
    }
}
