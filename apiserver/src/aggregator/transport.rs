//! The connections to extension servers: pooled, over HTTP/2 or HTTP/1.1, checked against the authorities of each.
//!
//! Kubernetes concept: `ServiceResolver` and the transports of `proxyHandler`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use axum::body::Body;
use clients::{Connector, Place, ServiceError, ServiceResolver, tls};
use hyper_util::client::legacy::Client;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::client::ResolvesClientCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::endpoints::EndpointRouting;
use super::error::RemoteError;
use super::remote_service::{RemoteService, ServiceReference, Trust};

/// Number of transports above which those that no `APIService` uses are dropped.
const MAX_UNUSED: usize = 256;

/// A client of one extension server.
pub(super) type HttpClient = Client<Connector, Body>;

/// The certificate that the server presents to extension servers, if it has one. It may change while the server runs.
#[derive(Default)]
pub(crate) struct ProxyIdentity(ArcSwapOption<CertifiedKey>);

/// The connections to all extension servers.
pub(crate) struct Transports {
    resolver: Arc<ServiceResolver>,
    identity: Arc<ProxyIdentity>,
    /// Chooses endpoints; without it requests go to the addresses of services.
    endpoints: Option<EndpointRouting>,
    /// The server's own address, which is never connected to.
    own: SocketAddr,
    clients: Mutex<HashMap<Key, Arc<Transport>>>,
}

/// The key of the connections to one extension server: servers with equal keys share them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    at: ServiceReference,
    trust: Trust,
}

/// The connections to one extension server, or to the other servers of the cluster.
pub(super) struct Transport {
    /// For requests and their responses.
    pub(super) requests: HttpClient,
    /// For requests that change the protocol, which HTTP/1.1 alone can.
    pub(super) upgrades: HttpClient,
    /// The certificate that they present.
    identity: Option<Arc<CertifiedKey>>,
}

// === impl ProxyIdentity ===

impl ProxyIdentity {
    /// Returns this certificate, or none.
    pub(crate) fn new(identity: Option<Arc<CertifiedKey>>) -> Self {
        Self(ArcSwapOption::new(identity))
    }

    /// Returns the certificate.
    pub(crate) fn present(&self) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }

    /// Replaces the certificate, unless it is the same. New connections present it, and requests use new connections.
    pub(crate) fn renew(&self, identity: Option<Arc<CertifiedKey>>) {
        let present = self.0.load();
        let chain = |identity: &Option<Arc<CertifiedKey>>| identity.as_ref().map(|known| known.cert.clone());
        if chain(&present) != chain(&identity) {
            self.0.store(identity);
        }
    }

    /// Whether it is this certificate.
    pub(super) fn is(&self, identity: Option<&Arc<CertifiedKey>>) -> bool {
        match (&*self.0.load(), identity) {
            (None, None) => true,
            (Some(present), Some(identity)) => Arc::ptr_eq(present, identity),
            _ => false,
        }
    }
}

// === impl Transport ===

impl Transport {
    /// Returns connections to servers that are checked by `trust` and see this certificate. `connector` makes them.
    pub(super) fn new(
        trust: &tls::Trust,
        identity: Option<Arc<CertifiedKey>>,
        connector: impl Fn(Arc<ClientConfig>) -> Connector,
    ) -> Result<Self, RemoteError> {
        let client = |protocols: &[&[u8]]| -> Result<HttpClient, RemoteError> {
            let shown = identity.clone().map(SingleCertAndKey::from);
            let shown = shown.map(|shown| Arc::new(shown) as Arc<dyn ResolvesClientCert>);
            Ok(clients::pool(connector(tls::client_config(trust.clone(), shown, protocols)?)))
        };
        Ok(Self { requests: client(&[b"h2", b"http/1.1"])?, upgrades: client(&[b"http/1.1"])?, identity })
    }

    /// Returns the certificate that they present.
    pub(super) fn identity(&self) -> Option<&Arc<CertifiedKey>> {
        self.identity.as_ref()
    }
}

// === impl Transports ===

impl Transports {
    /// Creates an empty set. `own` is the server's own address.
    pub(crate) fn new(resolver: Arc<ServiceResolver>, identity: Arc<ProxyIdentity>, own: SocketAddr) -> Self {
        Self { resolver, identity, endpoints: None, own, clients: Mutex::default() }
    }

    /// Sends requests to the endpoints of services themselves.
    pub(super) fn route_to(&mut self, endpoints: EndpointRouting) {
        self.endpoints = Some(endpoints);
    }

    /// Returns the host and port of an extension server, in the URLs of requests and in messages. Each has connections of
    /// its own, so that a request goes to where the service is now.
    ///
    /// # Errors
    /// Fails with a reason if it has none.
    pub(super) async fn authority(&self, service: &RemoteService) -> Result<String, RemoteError> {
        if let Some(endpoints) = &self.endpoints {
            return self.endpoint(endpoints, service).await;
        }
        let ServiceReference { namespace, name, port } = &service.at;
        let host = self.resolver.host(namespace, name, *port).await?;
        Ok(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
    }

    async fn endpoint(
        &self,
        endpoints: &EndpointRouting,
        service: &RemoteService,
    ) -> Result<String, RemoteError> {
        let ServiceReference { namespace, name, .. } = &service.at;
        let found = self.resolver.find(namespace, name).await?;
        let object = found.ok_or_else(|| ServiceError::NotFound(name.clone()))?;
        endpoints.endpoint(&service.at, &object).map(|address| address.to_string())
    }

    /// Returns the resolver of services.
    pub(super) fn resolver(&self) -> &ServiceResolver {
        &self.resolver
    }

    /// Returns the connections to an extension server.
    ///
    /// # Errors
    /// Fails with a reason if its bundle has no certificate.
    pub(super) fn for_service(&self, service: &RemoteService) -> Result<Arc<Transport>, RemoteError> {
        if let Some(known) = &*service.transport.load()
            && self.identity.is(known.identity.as_ref())
        {
            return Ok(known.clone());
        }
        let transport = self.for_key(service)?;
        service.transport.store(Some(transport.clone()));
        Ok(transport)
    }

    fn for_key(&self, service: &RemoteService) -> Result<Arc<Transport>, RemoteError> {
        let key = Key { at: service.at.clone(), trust: service.trust.clone() };
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(&key)
            && self.identity.is(known.identity.as_ref())
        {
            return Ok(known.clone());
        }
        let identity = self.identity.present();
        if clients.len() >= MAX_UNUSED {
            clients.retain(|_, client| Arc::strong_count(client) > 1);
        }
        let trust = match &key.trust {
            Trust::Any => tls::Trust::Any,
            Trust::Authorities(bundle) => tls::Trust::from_bundle_or_system(bundle)?,
        };
        let place = Place::InUrl { reach: self.resolver.reach(), own: self.own };
        let route = &self.resolver.egress().cluster;
        let connector = |tls| Connector::new(place.clone(), key.at.server_name(), route.clone(), Some(tls));
        let transport = Arc::new(Transport::new(&trust, identity, connector)?);
        clients.insert(key, transport.clone());
        Ok(transport)
    }
}
