//! The components that resources depend on, which are created before anything is installed: the
//! authenticator, outgoing connections, and the services of the server.

use std::net::SocketAddr;
use std::sync::Arc;

use clients::ServiceResolver;
use clients::dial::BackendReach;
use registry_core::registry::{Services, Stores};
use registry_core::resource::Resource as _;
use registry_core::rest::tokens::{NoTokens, TokenIssuer};
use resources::api::core::services::Services as ServiceResource;
use tokio_util::sync::CancellationToken;

use crate::authentication::{Authenticator, ServiceAccountTokens, Sources};
use crate::authorization::{Authorizer, ServerAccess};
use crate::health::EngineCheck;
use crate::options::Options;
use crate::pki::{self, KeyDirectory};
use crate::proxy::{ControlPlane, KubeletCertificate, PeerTls, Proxy};
use crate::server::error::ServerError;
use crate::webhooks::Webhooks;

use super::extension::MainServer;
use super::kubeconfig;
use super::opening::Opened;

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
    reaches_local: bool,
}

// === impl ServerDependencies ===

impl ServerDependencies {
    /// Creates the dependencies for these options. Keys and certificates are read or created. Clients are those of the main
    /// server, if there is one. If `reaches_local`, services may have any address.
    pub(super) fn new(
        options: &Options,
        opened: &Opened,
        authorizer: Arc<dyn Authorizer>,
        main_server: Option<&MainServer>,
        reaches_local: bool,
    ) -> Result<Self, ServerError> {
        let stores = Stores::default();
        let (authenticator, service_accounts) = match main_server {
            Some(main_server) => (main_server.authenticator(options)?, None),
            None => own_authenticator(options, opened, &stores)?,
        };
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
        let egress = opened.egress.clone();
        let resolver = Arc::new(ServiceResolver::new(stores.clone(), ServiceResource::TYPE, reach, egress));
        let engine = Arc::new(EngineCheck::new(opened.engine.mvcc()));
        let services = Services {
            access: Arc::new(ServerAccess::new(authenticator.clone(), authorizer)),
            tokens,
            components: Arc::new(ControlPlane::new(engine, &peer_tls)),
            webhooks: Arc::new(Webhooks::new(resolver.clone(), opened.webhook_calls)),
            kubelet_address_types: options.kubelet.kubelet_preferred_address_types.clone().into(),
            features: options.feature_gates().features(),
            stores,
        };
        Ok(Self { authenticator, services, resolver, service_accounts, peer_tls, reaches_local })
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
        &self,
        address: SocketAddr,
        max_connections: usize,
        stopping: CancellationToken,
    ) -> Proxy {
        let (tls, route) = (self.peer_tls.clone(), self.resolver.egress().cluster.clone());
        Proxy::new(tls, address, self.reaches_local, max_connections, stopping).through(route)
    }
}

/// Returns the authenticator of a server without a main server, and the tokens of its service accounts.
fn own_authenticator(
    options: &Options,
    opened: &Opened,
    stores: &Stores,
) -> Result<(Authenticator, Option<Arc<ServiceAccountTokens>>), ServerError> {
    let directory = KeyDirectory::from_options(options);
    let (signer, clock) = (opened.signer.clone(), opened.clock.clone());
    let service_accounts =
        ServiceAccountTokens::new(&options.service_accounts, &directory, signer, stores.clone())?;
    let service_accounts = Arc::new(service_accounts.with_clock(clock));
    let sources = Sources {
        options: &options.authentication,
        service_account_options: &options.service_accounts,
        trust: opened.tls.trust(),
        service_accounts: service_accounts.clone(),
        stores: stores.clone(),
        metrics: opened.metrics.jwt().clone(),
        egress: &opened.egress,
    };
    Ok((sources.assemble()?, Some(service_accounts)))
}
