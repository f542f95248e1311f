//! Makes the connections of a pool.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Extensions, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tower_service::Service;

use super::dial::{self, BackendReach, DialError};
use super::egress::{Route, Target};
use super::service::ServiceResolver;

/// Maximum time to resolve a name, connect, and complete the TLS handshake, unless there is another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections to one server, whichever URL is requested, or to the endpoints of one that URLs name.
#[derive(Clone)]
pub struct Connector {
    place: Place,
    server_name: String,
    route: Route,
    /// `None` for connections that are not encrypted.
    tls: Option<Arc<ClientConfig>>,
    timeout: Duration,
}

/// Where a server is.
#[derive(Clone)]
pub enum Place {
    /// At a name or an address.
    Host {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// At a service of the cluster, which is found for each connection.
    Service {
        /// Finds the service.
        resolver: Arc<ServiceResolver>,
        /// The service's namespace.
        namespace: String,
        /// The service's name.
        name: String,
        /// The service's port.
        port: u16,
    },
    /// At the host in the URL: a service of the cluster, or one of its endpoints.
    InUrl {
        /// The addresses that it may have.
        reach: BackendReach,
        /// This server's own address, which is not connected to.
        own: SocketAddr,
    },
}

/// A connection.
pub struct Stream {
    io: TokioIo<Box<dyn dial::Connection>>,
    is_http2: bool,
    has_answered: HasAnswered,
}

/// Whether a connection has answered a request, in the extensions of its answers.
#[derive(Clone, Default)]
pub(super) struct HasAnswered(Arc<AtomicBool>);

// === impl Connector ===

impl Connector {
    /// Returns a connector to this place, whose certificate has this name.
    pub fn new(place: Place, server_name: String, route: Route, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { place, server_name, route, tls, timeout: TIMEOUT }
    }

    /// Returns the connector of connections that are encrypted with this configuration, or not.
    pub(super) fn with_tls(&self, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, ..self.clone() }
    }

    /// Sets the maximum time until there is a connection.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    async fn connect(self, url: Uri) -> Result<Stream, DialError> {
        let dialed = async {
            let target = self.place.target(&url, &self.route).await?;
            self.route.connect_with_protocol(&target, &self.server_name, self.tls.clone()).await
        };
        match tokio::time::timeout(self.timeout, dialed).await {
            Ok(connected) => {
                let (stream, is_http2) = connected?;
                Ok(Stream { io: TokioIo::new(stream), is_http2, has_answered: HasAnswered::default() })
            }
            Err(_) => Err(DialError::Timeout(self.place.text(&self.server_name, &url))),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        Box::pin(self.clone().connect(url))
    }
}

// === impl Place ===

impl Place {
    /// Returns the place in messages.
    fn text(&self, server_name: &str, url: &Uri) -> String {
        match self {
            Self::Host { port, .. } | Self::Service { port, .. } => format!("{server_name}:{port}"),
            Self::InUrl { .. } => url.authority().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Returns the target of connections to the place. Its addresses are only such that may be connected to.
    async fn target(&self, url: &Uri, route: &Route) -> Result<Target, DialError> {
        match self {
            Self::Host { host, port } => route.resolve(host, *port).await,
            Self::Service { resolver, namespace, name, port } => {
                let host = resolver.host(namespace, name, *port).await?;
                let target = route.resolve(&host, *port).await?;
                target.check(resolver.reach())?;
                Ok(target)
            }
            Self::InUrl { reach, own } => {
                let (Some(host), Some(port)) = (url.host(), url.port_u16()) else {
                    return Err(DialError::NoAddress(url.clone()));
                };
                let host = host.trim_matches(['[', ']']);
                let target = route.resolve(host, port).await?;
                target.check(*reach)?;
                target.check_is_other(*own)?;
                Ok(target)
            }
        }
    }
}

// === impl HasAnswered ===

impl HasAnswered {
    /// Notes that the connection of an answer has answered.
    pub(super) fn note(extensions: &Extensions) {
        if let Some(Self(has_answered)) = extensions.get() {
            has_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the connection of a failure had answered before.
    pub(super) fn before(error: &legacy::Error) -> bool {
        let mut extensions = Extensions::new();
        if let Some(connected) = error.connect_info() {
            connected.get_extras(&mut extensions);
        }
        extensions.get().is_some_and(|Self(has_answered)| has_answered.load(Ordering::Relaxed))
    }
}

// === impl Stream ===

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.has_answered.clone());
        if self.is_http2 { connected.negotiated_h2() } else { connected }
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, buffers)
    }
}
