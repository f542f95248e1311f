//! The connections to one server: pooled, over HTTP/2 or HTTP/1.1, checked against the server's authorities.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use axum::body::Body;
use clients::{Connector, tls};
use hyper_util::client::legacy::Client;
use rustls::ClientConfig;
use rustls::client::ResolvesClientCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::error::RemoteError;

/// A client of one server.
pub(super) type HttpClient = Client<Connector, Body>;

/// The certificate that the server presents to extension servers, if it has one. It may change while the server runs.
#[derive(Default)]
pub(crate) struct ProxyIdentity(ArcSwapOption<CertifiedKey>);

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
