//! The connections to all extension servers, each checked against the authorities of its own.
//!
//! Kubernetes concept: `ServiceResolver` and the transports of `proxyHandler`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use clients::{Connector, Place, ServiceError, ServiceResolver, tls};
use parking_lot::Mutex;

use super::endpoints::EndpointRouting;
use super::error::RemoteError;
use super::remote_service::{RemoteService, ServiceReference, Trust};
use super::transport::{ProxyIdentity, Transport};

/// Number of transports above which those that no `APIService` uses are dropped.
const MAX_UNUSED: usize = 256;

/// The connections to all extension servers.
pub(super) struct Transports {
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

// === impl Transports ===

impl Transports {
    /// Creates an empty set. `own` is the server's own address; `endpoints` chooses endpoints of services.
    pub(super) fn new(
        resolver: Arc<ServiceResolver>,
        identity: Arc<ProxyIdentity>,
        own: SocketAddr,
        endpoints: Option<EndpointRouting>,
    ) -> Self {
        Self { resolver, identity, endpoints, own, clients: Mutex::default() }
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
            && self.identity.is(known.identity())
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
            && self.identity.is(known.identity())
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
