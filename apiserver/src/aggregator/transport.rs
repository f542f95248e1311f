//! The connections to extension servers: pooled, over HTTP/2 or HTTP/1.1, checked against the authorities of each.
//!
//! Kubernetes concept: `ServiceResolver` and the transports of `proxyHandler`.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::sign::CertifiedKey;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use crate::proxy::dial::{DialError, is_global_unicast, reaches, resolve};
use crate::webhooks::{ServiceResolver, client_config};

use super::remote_service::{RemoteService, ServiceReference, Trust};

/// Maximum time to resolve a service, connect, and complete the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for which an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Number of transports above which those that no `APIService` uses are dropped.
const MAX_UNUSED: usize = 256;

/// A client of one extension server.
pub(super) type HttpClient = Client<Connector, Body>;

/// The certificate that the server presents to extension servers; `None` if it has none.
pub(crate) type ProxyIdentity = Option<Arc<CertifiedKey>>;

/// The connections to all extension servers.
pub(crate) struct Transports {
    resolver: Arc<ServiceResolver>,
    identity: ProxyIdentity,
    /// The server's own address, which is never connected to.
    own: SocketAddr,
    clients: Mutex<HashMap<Key, Arc<Transport>>>,
}

/// What distinguishes the connections of one extension server.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    at: ServiceReference,
    trust: Trust,
}

/// The connections to one extension server.
pub(super) struct Transport {
    /// For requests and their responses.
    pub(super) requests: HttpClient,
    /// For requests that change the protocol, which HTTP/1.1 alone can.
    pub(super) upgrades: HttpClient,
}

/// Makes connections to one extension server.
#[derive(Clone)]
pub(super) struct Connector {
    at: ServiceReference,
    tls: Arc<ClientConfig>,
    resolver: Arc<ServiceResolver>,
    own: SocketAddr,
}

/// A connection.
pub(super) struct SecureStream(TokioIo<TlsStream<TcpStream>>);

// === impl Transports ===

impl Transports {
    /// Creates an empty set. `own` is the server's own address.
    pub(crate) fn new(resolver: Arc<ServiceResolver>, identity: ProxyIdentity, own: SocketAddr) -> Self {
        Self { resolver, identity, own, clients: Mutex::default() }
    }

    /// Returns the resolver of services.
    pub(super) fn resolver(&self) -> &ServiceResolver {
        &self.resolver
    }

    /// Returns the connections to an extension server.
    ///
    /// # Errors
    /// Fails with a reason if its bundle has no certificate.
    pub(super) fn of(&self, service: &RemoteService) -> Result<Arc<Transport>, String> {
        let key = Key { at: service.at.clone(), trust: service.trust.clone() };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(&key) {
            return Ok(known.clone());
        }
        if clients.len() >= MAX_UNUSED {
            clients.retain(|_, client| Arc::strong_count(client) > 1);
        }
        let transport = Arc::new(Transport {
            requests: self.client(&key, &[b"h2", b"http/1.1"])?,
            upgrades: self.client(&key, &[b"http/1.1"])?,
        });
        clients.insert(key, transport.clone());
        Ok(transport)
    }

    fn client(&self, key: &Key, protocols: &[&[u8]]) -> Result<HttpClient, String> {
        let authorities = match &key.trust {
            Trust::Any => None,
            Trust::Authorities(bundle) => Some(bundle.as_slice()),
        };
        let tls = client_config(authorities, self.identity.clone(), protocols)?;
        let connector = Connector { at: key.at.clone(), tls, resolver: self.resolver.clone(), own: self.own };
        Ok(Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIMEOUT).build(connector))
    }
}

// === impl Connector ===

impl Connector {
    async fn connect(self) -> Result<SecureStream, DialError> {
        let name = self.at.server_name();
        let dialed = async {
            let ServiceReference { namespace, name: service, port } = &self.at;
            let unknown = |reason: String| DialError::Connect {
                address: name.clone(),
                source: std::io::Error::other(reason),
            };
            let host = self.resolver.host(namespace, service, *port).await.map_err(unknown)?;
            let addresses = resolve(&host, *port).await?;
            if !addresses
                .iter()
                .all(|address| self.resolver.reaches_local() || is_global_unicast(address.ip()))
            {
                return Err(DialError::NotAllowed);
            }
            if let Some(address) = addresses.iter().find(|address| reaches(**address, self.own)) {
                return Err(DialError::OwnAddress(*address));
            }
            let mut failure = DialError::Timeout(host);
            for address in addresses {
                match TcpStream::connect(address).await {
                    Ok(stream) => return self.secure(stream).await,
                    Err(source) => failure = DialError::Connect { address: address.to_string(), source },
                }
            }
            Err(failure)
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, dialed).await {
            Ok(connected) => connected,
            Err(_) => Err(DialError::Timeout(format!("{name}:{}", self.at.port))),
        }
    }

    async fn secure(&self, stream: TcpStream) -> Result<SecureStream, DialError> {
        // Fails only if the connection is gone already.
        let _ = stream.set_nodelay(true);
        let name = ServerName::try_from(self.at.server_name())
            .map_err(|error| DialError::Tls(std::io::Error::other(error)))?;
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await;
        Ok(SecureStream(TokioIo::new(stream.map_err(DialError::Tls)?)))
    }
}

impl Service<Uri> for Connector {
    type Response = SecureStream;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<SecureStream, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

// === impl SecureStream ===

impl Connection for SecureStream {
    fn connected(&self) -> Connected {
        let (_, session) = self.0.inner().get_ref();
        let connected = Connected::new();
        if session.alpn_protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
    }
}

impl hyper::rt::Read for SecureStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for SecureStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, buffers)
    }
}
