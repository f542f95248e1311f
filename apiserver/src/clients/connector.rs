//! Makes the connections of a pool.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tower::Service;

use super::dial::{self, DialError, connect_with_protocol, is_global_unicast, reaches, resolve};
use super::service::ServiceResolver;

/// Maximum time to resolve a name, connect, and complete the TLS handshake.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections to one server, whichever URL is requested.
#[derive(Clone)]
pub(crate) struct Connector {
    place: Place,
    server_name: String,
    /// `None` for connections that are not encrypted.
    tls: Option<Arc<ClientConfig>>,
}

/// Where a server is.
#[derive(Clone)]
pub(crate) enum Place {
    /// At a name or an address.
    Host {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// At a service of the cluster.
    Service {
        /// The service's namespace.
        namespace: String,
        /// The service's name.
        name: String,
        /// The port of the service.
        port: u16,
        /// Finds the service.
        resolver: Arc<ServiceResolver>,
        /// This server's own address, which is not connected to.
        own: Option<SocketAddr>,
    },
}

/// A connection.
pub(crate) struct Stream {
    io: TokioIo<Box<dyn dial::Connection>>,
    is_http2: bool,
}

// === impl Connector ===

impl Connector {
    /// Returns a connector to this place, whose certificate has this name.
    pub(crate) fn new(place: Place, server_name: String, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { place, server_name, tls }
    }

    async fn connect(self) -> Result<Stream, DialError> {
        let dialed = async {
            let addresses = self.place.addresses().await?;
            connect_with_protocol(&addresses, &self.server_name, self.tls.clone()).await
        };
        match tokio::time::timeout(TIMEOUT, dialed).await {
            Ok(connected) => {
                let (stream, is_http2) = connected?;
                Ok(Stream { io: TokioIo::new(stream), is_http2 })
            }
            Err(_) => Err(DialError::Timeout(format!("{}:{}", self.server_name, self.place.port()))),
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

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

// === impl Place ===

impl Place {
    fn port(&self) -> u16 {
        match self {
            Self::Host { port, .. } | Self::Service { port, .. } => *port,
        }
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, DialError> {
        let (namespace, name, port, resolver, own) = match self {
            Self::Host { host, port } => return resolve(host, *port).await,
            Self::Service { namespace, name, port, resolver, own } => (namespace, name, *port, resolver, own),
        };
        let host = resolver.host(namespace, name, port).await.map_err(DialError::Service)?;
        let addresses = resolve(&host, port).await?;
        let is_allowed = |address: &SocketAddr| resolver.reaches_local() || is_global_unicast(address.ip());
        if !addresses.iter().all(is_allowed) {
            return Err(DialError::NotAllowed);
        }
        let reached = own.and_then(|own| addresses.iter().find(|address| reaches(**address, own)));
        match reached {
            Some(address) => Err(DialError::OwnAddress(*address)),
            None => Ok(addresses),
        }
    }
}

// === impl Stream ===

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
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
