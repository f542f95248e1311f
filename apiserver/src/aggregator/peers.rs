//! Requests for resources that this server does not serve and another server of the cluster does, as its release or its
//! flags are others.
//!
//! The servers find each other by their identity Leases; the record of a server's address has the name of its Lease. Each
//! server is asked for its discovery documents when it starts. Group versions of definitions and of extension servers are left out: every server of the
//! cluster serves them, and what another one said of them may be older than this server's own state.
//!
//! | module | contents |
//! |---|---|
//! | `described` | what another server says in discovery |
//! | `following` | asks the servers that run |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/util/peerproxy`.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use axum::body::Body;
use clients::dial::BackendReach;
use clients::egress::Route;
use clients::{Connector, Place};
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use registry_core::RequestContext;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;
use registry_core::registry::{InformerTask, InstalledApi};
use request_info::{Query, RequestInfo, ResourceRequest};
use responses::Response;
use responses::negotiation::Output;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::discovery::PublishPeers;
use crate::health::Completion;
use crate::metrics::PeerMetrics;

use super::RemoteApis;
use super::ask::read;
use super::error::RemoteError;
use super::forward::{Destination, Relay, page, url};
use super::identity;
use super::transport::{ProxyIdentity, Transport};

mod described;
mod following;
mod trust;

use described::Described;
use following::Following;
use trust::PeerAuthorities;
pub(crate) use trust::PeerTrust;

/// The header of requests that a server has forwarded: they are not forwarded again.
const FORWARDED: HeaderName = HeaderName::from_static("x-kubernetes-peer-proxied");
/// The name for which the certificates of all servers are valid.
const SERVER_NAME: &str = "kubernetes.default.svc";
/// The user of the requests for discovery, and its group.
const SERVER_USER: (&str, &str) = ("system:apiserver", "system:authenticated");
/// The form of discovery that other servers are asked for: of what they serve themselves.
const OWN_GROUPS: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,\
                          application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Maximum time of a request for discovery.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document of discovery.
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Finds the addresses of servers.
#[async_trait]
pub(crate) trait PeerAddresses: Send + Sync + 'static {
    /// Returns the address of the server with this identity; `None` if it does not run.
    ///
    /// # Errors
    /// The store failed. Retryable.
    async fn address(&self, server: &str) -> Result<Option<SocketAddr>, StatusError>;
}

/// The other servers of the cluster.
pub(crate) struct Peers {
    /// The servers of the resources that they serve, by group version (`apps/v1`) and resource.
    known: ArcSwap<ServersByResource>,
    served: Arc<dyn PublishPeers>,
    addresses: Arc<dyn PeerAddresses>,
    transport: PeerTransport,
    relay: Relay,
    metrics: PeerMetrics,
    turns: AtomicU64,
    order: RandomState,
}

type ServersByResource = HashMap<String, HashMap<String, Vec<Arc<str>>>>;

/// The connections to the other servers.
pub(crate) struct PeerTransport {
    /// The authorities of their certificates.
    trust: Arc<PeerTrust>,
    /// The certificate that they trust.
    identity: Arc<ProxyIdentity>,
    route: Route,
    own: SocketAddr,
    present: ArcSwapOption<CheckedTransport>,
}

/// Connections, and the authorities that check the servers.
struct CheckedTransport {
    transport: Arc<Transport>,
    authorities: Arc<PeerAuthorities>,
}

/// The parts of requests to other servers.
pub(crate) struct PeerSetup {
    /// The identity of this server.
    pub(crate) own: String,
    pub(crate) served: Arc<dyn PublishPeers>,
    pub(crate) addresses: Arc<dyn PeerAddresses>,
    pub(crate) transport: PeerTransport,
    pub(crate) metrics: PeerMetrics,
    /// Notes that the servers that ran at the start were asked.
    pub(crate) asked: Arc<Completion>,
    /// Ends streams.
    pub(crate) shutdown: CancellationToken,
}

/// The other servers, and what keeps them up to date.
pub(crate) struct Peering {
    pub(crate) peers: Arc<Peers>,
    pub(crate) informers: Vec<InformerTask>,
    /// Learns what they serve.
    pub(crate) background: BoxFuture<'static, ()>,
}

/// Error of a question to another server. Retryable.
#[derive(Debug, thiserror::Error)]
enum PeerError {
    #[error("its address cannot be read: {0}")]
    Store(#[from] StatusError),
    #[error("it has no address")]
    NoAddress,
    #[error(transparent)]
    Call(#[from] RemoteError),
    #[error("it answers {0}")]
    Refused(StatusCode),
    #[error("its document is malformed")]
    Malformed,
}

// === impl Peering ===

impl Peering {
    /// Follows the other servers of the cluster; `None` if their Leases are not served.
    pub(crate) fn new(
        setup: PeerSetup,
        installed: &InstalledApi,
        remote: Option<&RemoteApis>,
    ) -> Option<Self> {
        let peers = Arc::new(Peers {
            known: ArcSwap::default(),
            served: setup.served,
            addresses: setup.addresses,
            transport: setup.transport,
            relay: Relay::new(setup.shutdown),
            metrics: setup.metrics,
            turns: AtomicU64::default(),
            order: RandomState::new(),
        });
        let services = remote.map(|remote| remote.services.clone());
        let (following, informers) =
            Following::new(peers.clone(), setup.own, installed, services, setup.asked)?;
        Some(Self { peers, informers, background: Box::pin(following.run()) })
    }
}

// === impl Peers ===

impl Peers {
    /// Returns the servers that a request can be forwarded to: none if this server serves it, or if another one has forwarded
    /// it here.
    pub(super) fn servers_for(&self, info: &RequestInfo, headers: &HeaderMap) -> Option<Vec<Arc<str>>> {
        let ResourceRequest { group, version, resource, .. } = info.resource.as_ref()?;
        let is_forwarded = headers.get(FORWARDED).is_some_and(|value| value == "true");
        if is_forwarded || self.served.serves(group, version, resource) {
            return None;
        }
        self.known.load().get(&format!("{group}/{version}"))?.get(resource).cloned()
    }

    /// Forwards a request to one of these servers.
    pub(super) async fn forward(
        &self,
        servers: Vec<Arc<str>>,
        info: &RequestInfo,
        context: &RequestContext,
        mut request: Request<Body>,
        is_watch: bool,
    ) -> Response {
        let resource = info.resource.as_ref();
        let labels = resource.map_or([""; 3], |at| [&*at.group, &*at.version, &*at.resource]);
        let place = match self.relay.enter(context, &request) {
            Ok(place) => place,
            Err((status, text)) => return page(status, &text),
        };
        let Some((name, address)) = self.running(&servers).await else {
            self.metrics.failed("endpoint_resolution", labels);
            let text = "Error getting ip and port info of the remote server while proxying";
            let output = Output::for_errors(request.headers(), Query::from_uri(request.uri()), false);
            return responses::failure(&StatusError::new(Reason::ServiceUnavailable, text), &output);
        };
        let transport = match self.transport.present() {
            Ok(transport) => transport,
            Err(error) => {
                self.metrics.failed("proxy_transport", labels);
                return page(StatusCode::INTERNAL_SERVER_ERROR, &error);
            }
        };
        request.headers_mut().insert(FORWARDED, HeaderValue::from_static("true"));
        let authority = address.to_string();
        let destination = Destination { name, authority: &authority, transport, timeout: None };
        let response = self.relay.send(destination, place, context, request, is_watch).await;
        self.metrics.rerouted(response.status().as_u16(), labels);
        response
    }

    /// Returns one of these servers that runs, another one for each call, with its address.
    async fn running<'s>(&self, servers: &'s [Arc<str>]) -> Option<(&'s str, SocketAddr)> {
        let turn = self.order.hash_one(self.turns.fetch_add(1, Ordering::Relaxed));
        let first = usize::try_from(turn.checked_rem(servers.len() as u64)?).ok()?;
        for server in servers.iter().cycle().skip(first).take(servers.len()) {
            match self.addresses.address(server).await {
                Ok(Some(address)) => return Some((server, address)),
                Ok(None) => {}
                Err(error) => tracing::debug!(%server, "the address of a server cannot be read: {error}"),
            }
        }
        None
    }

    /// Asks a server what it serves.
    ///
    /// # Errors
    /// Fails if it cannot be reached, or does not answer as it should.
    async fn ask(&self, server: &str) -> Result<Described, PeerError> {
        let address = self.addresses.address(server).await.map_err(PeerError::from);
        let address = address.and_then(|address| address.ok_or(PeerError::NoAddress));
        let address =
            address.inspect_err(|_| self.metrics.discovery_failed("hostport_resolution"))?.to_string();
        let mut described = Described::default();
        for path in ["/api", "/apis"] {
            let list = self.document(&address, path).await;
            let added = list.and_then(|list| described.add(&list).ok_or(PeerError::Malformed));
            added.inspect_err(|_| self.metrics.discovery_failed("fetch_discovery"))?;
        }
        Ok(described)
    }

    async fn document(&self, authority: &str, path: &str) -> Result<Value, PeerError> {
        let request = Request::get(url(authority, path).map_err(RemoteError::from)?).body(Body::empty());
        let mut request = request.map_err(RemoteError::from)?;
        let (name, group) = SERVER_USER;
        let user = UserInfo {
            name: name.to_owned(),
            uid: name.to_owned(),
            groups: vec![group.to_owned()],
            ..UserInfo::default()
        };
        identity::set(request.headers_mut(), &user)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(OWN_GROUPS));
        request.headers_mut().insert(FORWARDED, HeaderValue::from_static("true"));
        let transport = self.transport.present()?;
        let answered = timeout(TIMEOUT, read(&transport.requests, request, MAX_DOCUMENT_BYTES)).await;
        let (head, body) = answered.unwrap_or(Err(RemoteError::NoAnswer))?;
        self.metrics.rerouted(head.status.as_u16(), [""; 3]);
        if head.status != StatusCode::OK {
            return Err(PeerError::Refused(head.status));
        }
        serde_json::from_slice(&body).map_err(|_| PeerError::Malformed)
    }
}

// === impl PeerTransport ===

impl PeerTransport {
    /// Returns connections to servers whose certificates are of these authorities. They present `identity`; `own` is this
    /// server's own address, which is not connected to.
    pub(crate) fn new(
        trust: Arc<PeerTrust>,
        identity: Arc<ProxyIdentity>,
        route: Route,
        own: SocketAddr,
    ) -> Self {
        Self { trust, identity, route, own, present: ArcSwapOption::empty() }
    }

    /// Returns the connections that present the present certificate and are checked by the present authorities.
    fn present(&self) -> Result<Arc<Transport>, RemoteError> {
        let authorities = self.trust.present();
        if let Some(known) = &*self.present.load()
            && self.identity.is(known.transport.identity())
            && Arc::ptr_eq(&authorities, &known.authorities)
        {
            return Ok(known.transport.clone());
        }
        // Servers may run on one machine, as in a test.
        let place = Place::InUrl { reach: BackendReach::Loopback, own: self.own };
        let connector =
            |tls| Connector::new(place.clone(), SERVER_NAME.to_owned(), self.route.clone(), Some(tls));
        let transport = Arc::new(Transport::new(&authorities.trust, self.identity.present(), connector)?);
        self.present.store(Some(Arc::new(CheckedTransport { transport: transport.clone(), authorities })));
        Ok(transport)
    }
}
