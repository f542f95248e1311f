//! The components that resources depend on, which are created before anything is installed: the
//! authenticator, outgoing connections, and the services of the server.

use std::net::SocketAddr;
use std::sync::Arc;

use clients::ServiceResolver;
use clients::dial::BackendReach;
use clients::egress::Egress;
use registry_core::api::clock::Clock;
use registry_core::registry::{Services, Stores};
use registry_core::resource::Resource as _;
use registry_core::rest::tokens::{NoTokens, TokenIssuer};
use resources::api::core::services::Services as ServiceResource;
use tokio_util::sync::CancellationToken;

use crate::authentication::{Authenticator, ClientTrust, ExternalSigner, ServiceAccountTokens, Sources};
use crate::authorization::{Authorizer, ServerAccess};
use crate::health::EngineCheck;
use crate::metrics::JwtMetrics;
use crate::options::Options;
use crate::pki::{self, KeyDirectory};
use crate::proxy::{ControlPlane, KubeletCertificate, PeerTls, Proxy};
use crate::server::error::ServerError;
use crate::storage::Engine;
use crate::webhooks::Webhooks;

use super::extension::MainServer;
use super::kubeconfig;

/// The dependencies of one server.
pub(super) struct ServerDependencies {
    /// Authenticates clients.
    pub(super) authenticator: Arc<Authenticator>,
    /// The services that resources can use.
    pub(super) services: Services,
    /// Finds services of the cluster.
    pub(super) resolver: Arc<ServiceResolver>,
    /// `None` behind a main server, which has the service accounts.
    service_accounts: Option<Arc<ServiceAccountTokens>>,
    peer_tls: PeerTls,
}

/// The source of the decision which clients the server has.
pub(super) enum Clients<'s> {
    /// The server itself, with these authorities of certificates, and the program that signs its tokens, if there is one.
    Own(Arc<ClientTrust>, JwtMetrics, Option<Arc<ExternalSigner>>),
    /// Its main server.
    OfMainServer(&'s MainServer),
}

// === impl Clients ===

impl Clients<'_> {
    fn authenticator(
        self,
        options: &Options,
        stores: &Stores,
        clock: Clock,
        egress: &Egress,
    ) -> Result<(Authenticator, Option<Arc<ServiceAccountTokens>>), ServerError> {
        let (trust, metrics, external) = match self {
            Self::Own(trust, metrics, external) => (trust, metrics, external),
            Self::OfMainServer(main_server) => return Ok((main_server.authenticator(options)?, None)),
        };
        let directory = KeyDirectory::from_options(options);
        let service_accounts =
            ServiceAccountTokens::new(&options.service_accounts, &directory, external, stores.clone())?;
        let service_accounts = Arc::new(service_accounts.with_clock(clock));
        let sources = Sources {
            options: &options.authentication,
            service_account_options: &options.service_accounts,
            trust,
            service_accounts: service_accounts.clone(),
            stores: stores.clone(),
            metrics,
            egress,
        };
        Ok((sources.assemble()?, Some(service_accounts)))
    }
}

// === impl ServerDependencies ===

impl ServerDependencies {
    /// Creates the dependencies for these options. Keys and certificates are read or created. If `reaches_local`, services
    /// may have any address. `egress` are the ways to other servers.
    pub(super) fn new(
        options: &Options,
        engine: &Engine,
        authorizer: Arc<dyn Authorizer>,
        reaches_local: bool,
        clients: Clients<'_>,
        clock: Clock,
        egress: &Egress,
    ) -> Result<Self, ServerError> {
        let stores = Stores::default();
        let (authenticator, service_accounts) = clients.authenticator(options, &stores, clock, egress)?;
        let authenticator = Arc::new(authenticator);
        let tokens: Arc<dyn TokenIssuer> = match &service_accounts {
            Some(service_accounts) => service_accounts.clone(),
            None => Arc::new(NoTokens),
        };
        let peer_tls = PeerTls::new(pki::kubelet_identity(options, pki::now())?)?;
        let reach = match (reaches_local, options.aggregator.allow_loopback_backends) {
            (true, _) => BackendReach::Everything,
            (false, true) => BackendReach::Loopback,
            (false, false) => BackendReach::OtherMachines,
        };
        let resolver =
            Arc::new(ServiceResolver::new(stores.clone(), ServiceResource::TYPE, reach, egress.clone()));
        let services = Services {
            access: Arc::new(ServerAccess::new(authenticator.clone(), authorizer)),
            tokens,
            components: Arc::new(ControlPlane::new(Arc::new(EngineCheck::new(engine.mvcc())), &peer_tls)),
            webhooks: Arc::new(Webhooks::new(resolver.clone())),
            kubelet_address_types: options.kubelet.kubelet_preferred_address_types.clone().into(),
            stores,
        };
        Ok(Self { authenticator, services, resolver, service_accounts, peer_tls })
    }

    /// Publishes the URL of the service account keys: at this server, unless the options set another one.
    pub(super) fn publish_keys(&self, options: &Options, address: SocketAddr) {
        let url = match &options.http.external_hostname {
            Some(host) => format!("https://{host}:{}", address.port()),
            None => kubeconfig::url(address),
        };
        let own = || format!("{url}/openid/v1/jwks");
        let Some(service_accounts) = &self.service_accounts else { return };
        service_accounts
            .publish_at(options.service_accounts.service_account_jwks_uri.clone().unwrap_or_else(own));
    }

    /// Returns the certificate that is presented to kubelets.
    pub(super) fn kubelet_certificate(&self) -> Arc<KubeletCertificate> {
        self.peer_tls.certificate.clone()
    }

    /// Returns the proxy of a server that listens on this address. It works until `stopping` is cancelled.
    pub(super) fn proxy(
        self,
        address: SocketAddr,
        reaches_local: bool,
        max_connections: usize,
        stopping: CancellationToken,
    ) -> Proxy {
        let route = self.resolver.egress().cluster.clone();
        Proxy::new(self.peer_tls, address, reaches_local, max_connections, stopping).through(route)
    }
}
