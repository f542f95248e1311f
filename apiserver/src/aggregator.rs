//! The aggregator: group versions that extension servers serve.
//!
//! An `APIService` with a service claims a group version. Requests for it, which have passed this server's filters, are
//! forwarded to the service; everything else is served by the handler behind the aggregator.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `peers` | requests that other servers of the cluster serve |
//! | `documents`, `specs` | fetch what extension servers say in discovery and in OpenAPI |
//! | `availability` | the checks that decide about the `Available` condition |
//! | `rounds` | repeats work for each extension server |
//! | `known` | what they have said, published when it changes |
//! | `descriptions` | reads the discovery documents of other servers |
//! | `ask` | requests of the aggregator itself |
//! | `forward` | a request and its response |
//! | `transports` | the connections to all extension servers |
//! | `endpoints` | the endpoints of services |
//! | `remote_service` | an extension server, as its `APIService` describes it |
//! | `transport` | the connections to one server |
//! | `identity` | the headers by which an extension server knows the user |
//! | `error` | the reasons for which there is no response |
//!
//! Without such an `APIService` a request costs one atomic load here.
//!
//! Kubernetes concept: `k8s.io/kube-aggregator`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use clients::ServiceResolver;
use futures::future::BoxFuture;
use http::Request;
use registry_core::RequestContext;
use registry_core::Resource as _;
use registry_core::registry::{Compiled, InformerTask, InstalledApi};
use request_info::{RequestInfo, Verb};
use resources::api::apiregistration::apiservices::APIServices;
use responses::Response;
use tokio_util::sync::CancellationToken;

use crate::discovery::PublishRemote;
use crate::filters::{Dispatch, ExpectedWork};
use crate::metrics::ServerMetrics;

mod ask;
mod availability;
mod descriptions;
mod documents;
mod endpoints;
mod error;
mod forward;
mod identity;
mod known;
mod peers;
mod remote_service;
mod rounds;
mod specs;
mod transport;
mod transports;

pub(crate) use peers::{PeerAddresses, PeerSetup, PeerTransport, PeerTrust, Peering, Peers};
pub(crate) use transport::ProxyIdentity;

use availability::AvailabilityController;
use documents::DocumentsController;
use endpoints::EndpointRouting;
use forward::Forwarder;
use known::KnownDocuments;
use remote_service::RemoteService;
use specs::SpecsController;
use transports::Transports;

/// Serves the group versions of extension servers, what only other servers of the cluster serve, and everything else by `D`.
pub(crate) struct Aggregator<D> {
    inner: Arc<D>,
    remote: Option<Arc<RemoteApis>>,
    peers: Option<Arc<Peers>>,
}

/// The extension servers.
pub(crate) struct RemoteApis {
    /// The APIServices with a service, by name.
    services: Arc<Compiled<RemoteService>>,
    forwarder: Forwarder,
}

/// The parts that the extension servers of a server are made of.
pub(crate) struct AggregationSetup<'s> {
    /// Resolves services.
    pub(crate) resolver: Arc<ServiceResolver>,
    /// The certificate that this server presents.
    pub(crate) identity: Arc<ProxyIdentity>,
    /// The server's own address, which is never connected to.
    pub(crate) own: SocketAddr,
    /// Whether requests go to the endpoints of services, and not to their addresses.
    pub(crate) routes_to_endpoints: bool,
    /// The metrics of the server.
    pub(crate) metrics: &'s ServerMetrics,
    /// Upgraded connections end when it is cancelled.
    pub(crate) shutdown: CancellationToken,
}

/// The extension servers of a server, and what keeps them up to date.
pub(crate) struct Aggregation {
    /// The extension servers.
    pub(crate) remote: Arc<RemoteApis>,
    /// Follow the APIServices, and the endpoints of their services.
    pub(crate) informers: Vec<InformerTask>,
    /// Checks the extension servers, and fetches their documents.
    pub(crate) background: [BoxFuture<'static, ()>; 3],
}

// === impl Aggregation ===

impl Aggregation {
    /// Creates the extension servers of an installed API, whose documents are published to `published`; `None` if it has no
    /// APIServices.
    pub(crate) fn new<P: PublishRemote>(
        setup: AggregationSetup<'_>,
        installed: &InstalledApi,
        published: &Arc<P>,
    ) -> Option<Self> {
        let AggregationSetup { resolver, identity, own, routes_to_endpoints, metrics, shutdown } = setup;
        let routing = routes_to_endpoints.then(|| EndpointRouting::new(installed)).flatten();
        let (routing, followed) = routing.unzip();
        let transports = Transports::new(resolver, identity, own, routing);
        let (remote, informer) = RemoteApis::new(installed, transports, shutdown)?;
        let informers = followed.into_iter().chain([informer]).collect();
        let availability =
            AvailabilityController::new(installed, remote.clone(), metrics.aggregator().clone())?;
        if let Some(store) = installed.store(APIServices::TYPE) {
            metrics.read_api_services_from(Box::new(move || Box::pin(availability::all(store.clone()))));
        }
        let known = Arc::new(KnownDocuments::new(published.clone()));
        let documents = DocumentsController::new(remote.clone(), known.clone());
        let specs = SpecsController::new(remote.clone(), known);
        let background: [BoxFuture<'static, ()>; 3] =
            [Box::pin(availability.run()), Box::pin(documents.run()), Box::pin(specs.run())];
        Some(Self { remote, informers, background })
    }
}

// === impl Aggregator ===

impl<D> Aggregator<D> {
    /// Returns an aggregator in front of `inner`; without `remote` and `peers` it forwards nothing.
    pub(crate) fn new(inner: Arc<D>, remote: Option<Arc<RemoteApis>>, peers: Option<Arc<Peers>>) -> Self {
        Self { inner, remote, peers }
    }
}

impl<D: Dispatch> Dispatch for Aggregator<D> {
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
        work: ExpectedWork,
    ) -> BoxFuture<'static, Response> {
        if let Some(remote) = &self.remote
            && let Some(service) = remote.service_of(&info.path)
        {
            let is_watch = info.verb == Verb::Watch;
            let remote = remote.clone();
            return Box::pin(
                async move { remote.forwarder.forward(&service, &context, request, is_watch).await },
            );
        }
        if let Some(peers) = &self.peers
            && let Some(servers) = peers.servers_for(&info, request.headers())
        {
            let is_watch = info.verb == Verb::Watch;
            let peers = peers.clone();
            return Box::pin(async move { peers.forward(servers, &info, &context, request, is_watch).await });
        }
        self.inner.dispatch(info, context, request, work)
    }
}

// === impl RemoteApis ===

impl RemoteApis {
    fn new(
        installed: &InstalledApi,
        transports: Transports,
        shutdown: CancellationToken,
    ) -> Option<(Arc<Self>, InformerTask)> {
        let store = installed.store(APIServices::TYPE)?;
        let (services, informer) = Compiled::informer(store, |object| RemoteService::from_object(&object));
        let remote = Self { services, forwarder: Forwarder::new(transports, shutdown) };
        Some((Arc::new(remote), informer.into_task()))
    }

    /// Returns the extension server of a path: one at or below `/apis/{group}/{version}`, or the document of that group
    /// version in OpenAPI v3.
    fn service_of(&self, path: &str) -> Option<Arc<RemoteService>> {
        let snapshot = self.services.snapshot();
        // Usually there are none.
        snapshot.values().next()?;
        let (group, version) = group_version(path)?;
        snapshot.get("", &format!("{version}.{group}")).filter(|service| service.is_forwarded())
    }
}

/// Returns the group and version of a path.
fn group_version(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("/openapi/v3").unwrap_or(path);
    let mut segments = path.strip_prefix("/apis/")?.split('/');
    let group = segments.next().filter(|group| !group.is_empty())?;
    let version = segments.next().filter(|version| !version.is_empty())?;
    Some((group, version))
}

#[cfg(test)]
mod tests {
    use super::group_version;

    #[test]
    fn paths_belong_to_group_versions() {
        for path in [
            "/apis/g.example.com/v1",
            "/apis/g.example.com/v1/namespaces/a/x",
            "/openapi/v3/apis/g.example.com/v1",
        ] {
            assert_eq!(group_version(path), Some(("g.example.com", "v1")), "{path}");
        }
        for path in
            ["/apis", "/apis/", "/apis/g.example.com", "/apis/g.example.com/", "/api/v1/pods", "/apis//v1"]
        {
            assert_eq!(group_version(path), None, "{path}");
        }
    }
}
