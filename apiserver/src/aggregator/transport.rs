//! The connections to extension servers: pooled, over HTTP/2 or HTTP/1.1, checked against the authorities of each.
//!
//! Kubernetes concept: `ServiceResolver` and the transports of `proxyHandler`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::client::ResolvesClientCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::clients::{Connector, Place, ServiceResolver, tls};

use super::remote_service::{RemoteService, ServiceReference, Trust};

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
        let shown = self.identity.clone();
        let shown =
            shown.map(|identity| Arc::new(SingleCertAndKey::from(identity)) as Arc<dyn ResolvesClientCert>);
        let trust = match &key.trust {
            Trust::Any => tls::Trust::Any,
            Trust::Authorities(bundle) => tls::Trust::of_bundle_or_system(bundle)?,
        };
        let tls = tls::client_config(trust, shown, protocols).map_err(|error| error.to_string())?;
        let ServiceReference { namespace, name, port } = key.at.clone();
        let place =
            Place::Service { namespace, name, port, resolver: self.resolver.clone(), own: Some(self.own) };
        let connector = Connector::new(place, key.at.server_name(), Some(tls));
        Ok(Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIMEOUT).build(connector))
    }
}
