//! The server: from options and storage maps to a listening process, and its graceful shutdown.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use futures::future::BoxFuture;
use http::{Request, Response};
use registry_core::RequestContext;
use registry_core::context::ClusterPolicy;
use registry_core::registry::storage_map::{check_declarations, check_together};
use registry_core::registry::{InformerTask, InstalledApi, StorageMap};
use registry_core::resource::ResourceDescription;
use registry_core::rest::access::AccessReviewer;
use registry_core::storage::shared_watch::SharedWatch;
use resources::apiextensions::CustomResourceController;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::{AdmissionChain, NamespaceLifecycle, ServedKinds, add_policies};
use crate::authorization::{Authorizer, BaselineAuthorizer};
use crate::error::ServerError;
use crate::filters::{Dispatch, Filters};
use crate::handlers::{Api, ApiConfig};
use crate::health::{
    CustomResourcesCheck, Endpoint, EngineCheck, Health, PingCheck, ReadinessCheck, ShutdownCheck,
};
use crate::metrics::ServerMetrics;
use crate::options::{Feature, Options, OptionsError};
use crate::request_info::RequestInfo;
use crate::storage::{Engine, Storages};

mod coalesced;
mod connection;
pub mod data_directory;
mod dependencies;
pub(crate) mod descriptors;
mod heartbeat;
mod kubeconfig;
mod large_bodies;
mod listener;
pub mod pki;
mod post_start;
mod progress;
mod renewal;
mod streams;
mod tls;

use connection::ConnectionLimits;
use data_directory::DataDirectory;
use dependencies::ServerDependencies;
use descriptors::Descriptors;
use large_bodies::LargeBodies;
use listener::Connections;
use post_start::PostStartHooks;
use renewal::{CertificateRenewal, ServingCertificateCheck, ServingTls};

/// A server whose storage is open and whose port is bound, and that does not serve yet.
pub struct Server {
    options: Options,
    data_directory: DataDirectory,
    listener: TcpListener,
    address: SocketAddr,
    ca_pem: String,
    tls: Arc<ServingTls>,
    renewal: Arc<CertificateRenewal>,
    engine: Engine,
    filters: Arc<Filters<LargeBodies<Api>>>,
    hooks: PostStartHooks,
    custom_resources: Option<Arc<CustomResourceController>>,
    lifecycle: Lifecycle,
    descriptors: Descriptors,
    shared_watch: Arc<SharedWatch>,
}

/// Builds a server.
#[derive(Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct ServerBuilder {
    options: Options,
    maps: Vec<&'static StorageMap>,
    without_builtin_resources: bool,
    authorizer: Option<Arc<dyn Authorizer>>,
    reaches_local_workloads: bool,
    shutdown: CancellationToken,
}

/// Reports whether a server is ready, from within its process.
#[derive(Clone)]
pub struct Readiness(Arc<Filters<LargeBodies<Api>>>);

/// What the first phase of the assembly creates.
struct OpenedStores {
    dependencies: ServerDependencies,
    authorizer: Arc<dyn Authorizer>,
    storages: Arc<Storages>,
    installed: Arc<InstalledApi>,
}

/// The two steps of the shutdown.
#[derive(Clone, Debug)]
struct Lifecycle {
    /// Cancelled when the server is asked to stop; `/readyz` fails from then on.
    shutdown: CancellationToken,
    /// Cancelled after the shutdown delay: no new connections are accepted, watches end, other requests are
    /// completed.
    stopping: CancellationToken,
}

// === impl ServerBuilder ===

impl ServerBuilder {
    /// Sets the options.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a map whose resources are served.
    pub fn storage_map(mut self, map: &'static StorageMap) -> Self {
        if !self.maps.iter().any(|own| std::ptr::eq(*own, map)) {
            self.maps.push(map);
        }
        self
    }

    /// Excludes Kubernetes' built-in resources, which are served by default.
    pub fn without_builtin_resources(mut self) -> Self {
        self.without_builtin_resources = true;
        self
    }

    /// Replaces the baseline authorizer.
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Allows proxied requests to pods and services at addresses of this machine, where tests run them. Must
    /// not be used otherwise: services that listen only on this machine trust everyone who can connect to
    /// them.
    pub fn reach_local_workloads(mut self) -> Self {
        self.reaches_local_workloads = true;
        self
    }

    /// Sets the token that stops the server when it is cancelled.
    pub fn shutdown(mut self, shutdown: CancellationToken) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// Opens the storage, creates or reads keys and certificates, binds the port, and writes the
    /// administrator's kubeconfig.
    ///
    /// # Errors
    /// Fails if any of these steps does; the text gives the reason.
    pub async fn build(self) -> Result<Server, ServerError> {
        let storage_choice = self.options.validate()?;
        // Before anything is written: two servers would replace each other's certificates.
        let data_directory = DataDirectory::acquire(&self.options.data_dir)?;
        let metrics = ServerMetrics::new()?;
        let commits = metrics.storage().commits();
        let engine = Engine::open(storage_choice, &self.options.storage, commits).await?;
        // After the store is open: a failed start changes no key or certificate.
        let identities = pki::Identities::ensure(&self.options)?;
        let ca_pem = identities.server_ca_pem.clone();
        let tls = Arc::new(ServingTls::new(&identities, metrics.certificate_expiry().clone())?);
        let stores = self.open_stores(&engine, &metrics)?;
        let OpenedStores { dependencies, authorizer, storages, installed } = stores;
        let lifecycle = Lifecycle { shutdown: self.shutdown, stopping: CancellationToken::new() };
        let (listener, address) = listen(&self.options).await?;
        let facts = post_start::server_facts(&self.options, address, identities.client_ca_pem.clone());
        let flow_schemas = Arc::default();
        let attached = resources::attach_hooks(&installed, self.options.serving.service_cluster_ip_range);
        let admission = admission(&installed, &dependencies.services.access, &self.options)?;
        let mut informers = admission.informers();
        kubeconfig::write(&self.options.kubeconfig_path(), address, &identities)?;
        dependencies.publish_keys(&self.options, address);
        let authenticator = dependencies.authenticator.clone();
        let kubelet_certificate = dependencies.kubelet_certificate();
        let config = api_config(&self.options, &storages, &metrics);
        let api = Api::with_config(&installed, admission, lifecycle.stopping.clone(), config);
        let descriptors = Descriptors::of_process();
        descriptors.report();
        let stopping = lifecycle.stopping.clone();
        let reaches_local = self.reaches_local_workloads;
        let max_proxied = descriptors.proxied;
        api.connect_by(dependencies.proxy(address, reaches_local, max_proxied, stopping));
        let custom_resources = custom_resources(&installed, &storages, &api, &mut informers);
        let background = background(&api);
        let hooks = PostStartHooks::new(&installed, &facts, attached, &flow_schemas, informers, background);
        let mut health = health_checks(&storages, &installed, &hooks, &tls, &lifecycle);
        if let Some(controller) = &custom_resources {
            let check = Arc::new(CustomResourcesCheck(controller.clone()));
            health.add("poststarthook/crd-informer-synced", Endpoint::ALL, check);
        }
        let limits = &self.options.limits;
        let policy = ClusterPolicy { allows_privileged: self.options.admission.allow_privileged };
        // Large bodies: below the filters, so that authentication, bounds and the deadline stay on the connection's runtime.
        let api = Arc::new(LargeBodies::new(api)?);
        let filters = Filters::new(api, authenticator, authorizer, flow_schemas, health, limits, metrics);
        let filters = Arc::new(filters.with_policy(policy));
        let renewal = CertificateRenewal::new(
            self.options.clone(),
            address,
            tls.clone(),
            kubelet_certificate,
            identities,
        );
        Ok(Server {
            options: self.options,
            data_directory,
            listener,
            address,
            ca_pem,
            renewal: Arc::new(renewal),
            tls,
            engine,
            filters,
            hooks,
            custom_resources,
            lifecycle,
            descriptors,
            shared_watch: storages.shared_watch().clone(),
        })
    }

    /// The first phase of the assembly: the stores of all resources, and what they need themselves. Whoever reads from
    /// the stores is created after it: informers, admission, hooks, and the handlers.
    fn open_stores(&self, engine: &Engine, metrics: &ServerMetrics) -> Result<OpenedStores, ServerError> {
        let authorizer = self.authorizer.clone().unwrap_or_else(|| Arc::new(BaselineAuthorizer));
        let dependencies =
            ServerDependencies::new(&self.options, engine, authorizer.clone(), self.reaches_local_workloads)?;
        let services = dependencies.services.clone();
        let counted = metrics.storage().clone();
        let storages = Arc::new(Storages::new(engine.clone(), &self.options.storage, services, counted));
        let installed = Arc::new(self.install(&storages)?);
        metrics.read_from(storages.reader());
        Ok(OpenedStores { dependencies, authorizer, storages, installed })
    }

    /// Installs the resources of every map that are enabled.
    fn install(&self, storages: &Storages) -> Result<InstalledApi, ServerError> {
        let builtin = (!self.without_builtin_resources).then_some(&resources::STORAGE_MAP);
        let maps: Vec<&StorageMap> = builtin.into_iter().chain(self.maps.iter().copied()).collect();
        check_together(&maps)?;
        check_declarations(&maps)?;
        let runtime_config = self.options.runtime_config();
        let entries = maps.iter().flat_map(|map| map.versions).flat_map(|version| version.entries);
        let resources: Vec<&'static ResourceDescription> = entries.map(|entry| entry.resource).collect();
        let unknown = runtime_config.unknown_keys(&resources);
        if !unknown.is_empty() {
            return Err(ServerError::UnknownApi(unknown.join(", ")));
        }
        let mut installed = InstalledApi::default();
        for map in maps {
            let paths = map.install(storages, &|resource| runtime_config.is_enabled(resource))?.paths;
            installed.paths.extend(paths);
        }
        Ok(installed)
    }
}

// === impl Server ===

impl Server {
    /// Returns a builder of a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// Returns the server's address, with the actual port if a free one was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the server's URL, for clients on this machine.
    pub fn url(&self) -> String {
        kubeconfig::url(self.address)
    }

    /// Returns the path of the administrator's kubeconfig.
    pub fn kubeconfig_path(&self) -> PathBuf {
        let path = self.options.kubeconfig_path();
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Returns the certificate authority (PEM) that clients verify the server with.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns the data directory.
    pub fn data_dir(&self) -> &Path {
        &self.options.data_dir
    }

    /// Returns the token that shuts the server down when it is cancelled: see [`serve`](Self::serve).
    pub fn shutdown_token(&self) -> CancellationToken {
        self.lifecycle.shutdown.clone()
    }

    /// Returns the readiness of the server, which can be queried while it serves.
    pub fn readiness(&self) -> Readiness {
        Readiness(self.filters.clone())
    }

    /// Serves until the shutdown token is cancelled, then shuts down gracefully: `/readyz` fails at once;
    /// after the shutdown delay no connection is accepted any more and watches end; requests in flight are
    /// completed, for at most one request timeout.
    pub async fn serve(self) {
        let mut hooks = self.hooks.spawn(&self.lifecycle.stopping);
        let max_streams = self.options.serving.http2_max_streams_per_connection;
        let limits = ConnectionLimits::new(max_streams);
        hooks.spawn(self.renewal.run(self.lifecycle.stopping.clone()));
        if let Some(controller) = self.custom_resources {
            hooks.spawn(until(self.lifecycle.stopping.clone(), controller.run()));
        }
        let delays = self.filters.metrics().scheduling_delays().clone();
        let _heartbeat = AbortOnDropHandle::new(tokio::spawn(heartbeat::measure(delays)));
        let connections = Connections::new(self.filters, self.tls, limits, self.descriptors.connections);
        let stopping = self.lifecycle.stopping.clone();
        let delay = self.options.limits.shutdown_delay_duration;
        let shutdown = self.lifecycle.shutdown;
        let countdown = async {
            shutdown.cancelled().await;
            tokio::time::sleep(delay).await;
            stopping.cancel();
        };
        let listener = self.listener;
        tokio::join!(countdown, connections.accept(listener, stopping.clone()));
        connections.drain(self.options.limits.request_timeout).await;
        hooks.shutdown().await;
        // Last, so that all responses are stored, and the directory is free for the next server.
        self.shared_watch.stop();
        self.engine.close().await;
        drop(self.data_directory);
    }
}

/// Runs a task until the token is cancelled.
async fn until(stopping: CancellationToken, task: impl Future<Output = ()>) {
    stopping.run_until_cancelled(task).await;
}

// === impl Readiness ===

impl Readiness {
    /// Returns the failing checks of `/readyz`; empty when the server is ready.
    pub async fn failures(&self) -> Vec<String> {
        self.0.health().failures(Endpoint::Readyz).await
    }
}

impl Dispatch for Api {
    async fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
    ) -> Response<Body> {
        Self::dispatch(self, info, context, request).await
    }
}

/// Returns the admission plug-ins that are installed and not disabled, in the order in which they are called.
fn admission(
    installed: &InstalledApi,
    access: &Arc<dyn AccessReviewer>,
    options: &Options,
) -> Result<AdmissionChain, OptionsError> {
    let mut chain = AdmissionChain::default();
    if let Some(lifecycle) = NamespaceLifecycle::new(installed) {
        chain.mutating.push(Arc::new(lifecycle));
    }
    let plugins = resources::admission::plugins(installed);
    chain.mutating.extend(plugins.mutating);
    chain.validating.extend(plugins.validating);
    add_policies(&mut chain, installed, access);
    options.admission.apply(&mut chain)?;
    Ok(chain)
}

/// Returns the controller that serves custom resources through the API, and adds its informer; `None` if their definitions
/// are not served.
fn custom_resources(
    installed: &InstalledApi,
    storages: &Arc<Storages>,
    api: &Arc<Api>,
    informers: &mut Vec<InformerTask>,
) -> Option<Arc<CustomResourceController>> {
    let controller = CustomResourceController::new(installed, storages.clone(), api.clone())?;
    api.look_for_late_resources(controller.clone());
    informers.push(controller.informer());
    Some(controller)
}

/// Returns the work of admission plug-ins beside requests.
fn background(api: &Arc<Api>) -> Vec<BoxFuture<'static, ()>> {
    let kinds: Arc<dyn ServedKinds> = api.clone();
    api.admission().background(&kinds)
}

/// Returns the API configuration of these options.
fn api_config(options: &Options, storages: &Storages, metrics: &ServerMetrics) -> ApiConfig {
    ApiConfig {
        descriptions: resources::schema::descriptions,
        cbor: options.feature_gates().is_enabled(Feature::CborServingAndStorage),
        encodings: storages.encodings().clone(),
        metrics: metrics.requests().clone(),
    }
}

async fn listen(options: &Options) -> Result<(TcpListener, SocketAddr), ServerError> {
    let address = SocketAddr::new(options.serving.bind_address, options.serving.secure_port);
    let failed = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

fn health_checks(
    storages: &Storages,
    installed: &Arc<InstalledApi>,
    hooks: &PostStartHooks,
    tls: &Arc<ServingTls>,
    lifecycle: &Lifecycle,
) -> Health {
    let engine = Arc::new(EngineCheck::new(storages.engine().mvcc()));
    let mut health = Health::default();
    health.add("ping", Endpoint::ALL, Arc::new(PingCheck));
    health.add("etcd", Endpoint::ALIVE, engine.clone());
    health.add("etcd-readiness", Endpoint::READY, engine);
    let caches = ReadinessCheck::new(installed.clone(), hooks.synced());
    health.add("informer-sync", Endpoint::READY, Arc::new(caches));
    for (name, completion) in hooks.completions() {
        health.add(format!("poststarthook/{name}"), Endpoint::ALL, completion);
    }
    health.add("serving-certificate", Endpoint::READY, Arc::new(ServingCertificateCheck(tls.clone())));
    health.add("shutdown", Endpoint::READY, Arc::new(ShutdownCheck(lifecycle.shutdown.clone())));
    health
}
