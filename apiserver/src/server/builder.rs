//! Builds a server, in phases: what it opens, the stores, and everything that reads from them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use registry_core::context::ClusterPolicy;
use registry_core::features::Feature;
use registry_core::registry::storage_map::{check_declarations, check_together};
use registry_core::registry::{InstalledApi, LateResources, StorageMap};
use registry_core::resource::ResourceDescription;
use resources::apiextensions::CustomResourceController;
use resources::apiregistration::CustomRegistration;
use resources::rbac::RoleAggregation;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admission::ServedKinds;
use crate::aggregator::{Aggregation, Aggregator, ProxyIdentity, Transports};
use crate::audit::Auditor;
use crate::authentication::ClientTrust;
use crate::authorization::{Authorization, Authorizer};
use crate::encryption::{Encryption, EncryptionError};
use crate::error::ServerError;
use crate::filters::Filters;
use crate::flowcontrol::FlowControl;
use crate::handlers::{Api, ApiConfig, ApiParts, ServedApi, WatchTimes};
use crate::health::{
    CustomResourcesCheck, Endpoint, EngineCheck, Health, PingCheck, ReadinessCheck, ShutdownCheck,
};
use crate::metrics::ServerMetrics;
use crate::options::Options;
use crate::storage::{Engine, Storages};
use crate::telemetry::Sampler;
use crate::zpages::Zpages;

use super::data_directory::DataDirectory;
use super::dependencies::{Clients, ServerDependencies};
use super::descriptors::Descriptors;
use super::extension::MainServer;
use super::large_bodies::LargeBodies;
use super::post_start::{PostStartHooks, ServerTasks};
use super::renewal::{CertificateRenewal, ServingCertificateCheck, ServingTls};
use super::{Handler, Lifecycle, Server, admission, kubeconfig, pki, post_start};

/// Builds a server.
#[derive(Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct ServerBuilder {
    options: Options,
    maps: Vec<&'static StorageMap>,
    without_builtin_resources: bool,
    is_extension: bool,
    authorizer: Option<Arc<dyn Authorizer>>,
    reaches_local_workloads: bool,
    shutdown: CancellationToken,
}

/// What the server opens before its stores: files, keys and the engine.
struct Opened {
    data_directory: DataDirectory,
    metrics: Arc<ServerMetrics>,
    engine: Engine,
    identities: pki::Identities,
    tls: Arc<ServingTls>,
    encryption: Option<Arc<Encryption>>,
    auditor: Option<Arc<Auditor>>,
    proxy_identity: Arc<ProxyIdentity>,
    sampler: Option<Sampler>,
}

/// What the first phase of the assembly creates.
struct OpenedStores {
    dependencies: ServerDependencies,
    authorization: Authorization,
    storages: Arc<Storages>,
    /// What is served.
    installed: Arc<InstalledApi>,
    /// What admission reads: the same, and resources of a main server.
    known: Arc<InstalledApi>,
    /// What follows the authentication of a main server.
    following: Vec<BoxFuture<'static, ()>>,
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

    /// Makes this an extension server, which serves only its own resources, behind the main server of `--kubeconfig`: that one
    /// decides who the clients are and what they may do, has the namespaces, and the webhooks and policies of admission.
    ///
    /// Kubernetes concept: [API aggregation](https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/).
    pub fn extension(mut self) -> Self {
        self.is_extension = true;
        self.without_builtin_resources = true;
        self
    }

    /// Replaces the authorizers of `--authorization-mode`.
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
        let opened = Box::pin(Opened::new(&self.options, self.is_extension)).await?;
        let main_server = if self.is_extension {
            Some(Box::pin(MainServer::open(&self.options, opened.tls.trust())).await?)
        } else {
            None
        };
        let mut stores = self.open_stores(&opened, main_server.as_ref())?;
        stores.following.extend(main_server.and_then(MainServer::follow));
        let (listener, address) = listen(&self.options).await?;
        self.assemble(opened, stores, listener, address)
    }

    /// The first phase of the assembly: the stores of all resources, and what they need themselves. Whoever reads from
    /// the stores is created after it: informers, admission, hooks, and the handlers.
    fn open_stores(
        &self,
        opened: &Opened,
        main_server: Option<&MainServer>,
    ) -> Result<OpenedStores, ServerError> {
        let Opened { metrics, engine, tls, encryption, .. } = opened;
        let (authorization, clients) = match main_server {
            Some(main_server) => (
                Authorization::delegated(&self.options, self.authorizer.clone(), metrics.authorization())?,
                Clients::OfMainServer(main_server),
            ),
            None => (
                Authorization::new(
                    &self.options.authorization,
                    self.authorizer.clone(),
                    metrics.authorization(),
                )?,
                Clients::Own(tls.trust(), metrics.jwt().clone()),
            ),
        };
        let reaches_local = self.reaches_local_workloads;
        let authorizer = authorization.authorizer();
        let dependencies =
            ServerDependencies::new(&self.options, engine, authorizer, reaches_local, clients)?;
        let services = dependencies.services.clone();
        let counted = metrics.storage().clone();
        let storages = Storages::new(engine.clone(), &self.options.storage, services, counted);
        let storages = Arc::new(storages.with_encryption(encryption.clone()));
        let installed = Arc::new(self.install(&storages)?);
        let known = match main_server {
            Some(main_server) => {
                Arc::new(main_server.beside(&installed, &self.options, &dependencies.services)?)
            }
            None => installed.clone(),
        };
        metrics.read_from(storages.reader());
        Ok(OpenedStores { dependencies, authorization, storages, installed, known, following: Vec::new() })
    }

    /// The second phase of the assembly: what reads from the stores, and the handlers.
    fn assemble(
        self,
        opened: Opened,
        stores: OpenedStores,
        listener: TcpListener,
        address: SocketAddr,
    ) -> Result<Server, ServerError> {
        let Opened { data_directory, metrics, engine, identities, tls, encryption, proxy_identity, .. } =
            opened;
        let OpenedStores { dependencies, mut authorization, storages, installed, known, following } = stores;
        let options = &self.options;
        let lifecycle = Lifecycle::new(self.shutdown);
        let facts = post_start::server_facts(options, address, tls.published());
        let flow_control = flow_control(options, &metrics);
        let attached = attach_rules(options, &installed, &dependencies);
        let counted = metrics.admission();
        let admission = admission::chain(&known, &dependencies, counted, options, self.is_extension)?;
        let mut tasks = ServerTasks { informers: admission.informers(), background: following };
        follow_policy(&mut authorization, &installed, &mut tasks);
        aggregate_roles(options, &installed, &mut tasks);
        kubeconfig::write(&options.kubeconfig_path(), address, &identities)?;
        dependencies.publish_keys(options, address);
        let authenticator = dependencies.authenticator.clone();
        let kubelet_certificate = dependencies.kubelet_certificate();
        let config = api_config(options, &storages, &metrics, &lifecycle);
        let served = ServedApi::new(&installed, &config, lifecycle.draining.clone());
        let descriptors = Descriptors::of_process().reported();
        let transports = Transports::new(dependencies.resolver.clone(), proxy_identity.clone(), address);
        let local = self.reaches_local_workloads;
        let proxy = dependencies.proxy(address, local, descriptors.proxied, lifecycle.stopping.clone());
        let custom_resources = custom_resources(&installed, &storages, &served, &mut tasks);
        let late = custom_resources.clone().map(|late| late as Arc<dyn LateResources>);
        let api = Api::over(served.clone(), ApiParts { admission, proxy: Some(proxy), late }, config);
        tasks.background.extend(background(&api, self.is_extension));
        let handler = handler(options, &installed, transports, (api, &served), &lifecycle, &mut tasks)?;
        let hooks = PostStartHooks::new(&installed, &facts, attached, flow_control.as_ref(), tasks);
        let mut health = health_checks(&storages, &known, &hooks, &tls, &lifecycle);
        health.tolerate_for(options.http.livez_grace_period);
        add_checks(&mut health, custom_resources, encryption.as_deref());
        let authorizer = authorization.authorizer();
        let limits = &options.limits;
        let policy = ClusterPolicy { allows_privileged: options.admission.allow_privileged };
        let filters = Filters::new(handler, authenticator, authorizer, flow_control, health, limits, metrics)
            .with_policy(policy)
            .with_http(&options.http)
            .with_auditor(opened.auditor)
            .with_sampler(opened.sampler)
            .with_zpages(Zpages::of(options))
            .with_draining(options.shutdown.shutdown_send_retry_after.then(Arc::default));
        let ca_pem = identities.server_ca_pem.clone();
        let (given, own, shown) = (options.clone(), tls.clone(), (kubelet_certificate, proxy_identity));
        let renewal = CertificateRenewal::new(given, address, own, shown, identities);
        Ok(Server {
            options: self.options,
            data_directory,
            listener,
            address,
            ca_pem,
            renewal: Arc::new(renewal),
            tls,
            engine,
            filters: Arc::new(filters),
            hooks,
            lifecycle,
            descriptors,
            shared_watch: storages.shared_watch().clone(),
        })
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
        runtime_config.check(&resources)?;
        let gates = self.options.feature_gates();
        let is_served = |resource: &ResourceDescription| {
            runtime_config.is_enabled(resource)
                && resource.feature.is_none_or(|feature| gates.is_enabled(feature))
        };
        let mut installed = InstalledApi::default();
        for map in maps {
            let paths = map.install(storages, &is_served)?.paths;
            installed.paths.extend(paths);
        }
        Ok(installed)
    }
}

// === impl Opened ===

impl Opened {
    async fn new(options: &Options, is_extension: bool) -> Result<Self, ServerError> {
        let storage_choice = options.validate()?;
        let sampler = options.tracing()?.map(|configuration| Sampler::new(&configuration));
        // Before anything is written: two servers would replace each other's certificates.
        let data_directory = DataDirectory::acquire(&options.data_dir)?;
        let metrics = ServerMetrics::new()?;
        let auditor = Auditor::start(&options.audit, metrics.audit())?;
        let commits = metrics.storage().commits();
        let engine = Engine::open(storage_choice, &options.storage, commits).await?;
        // After the store is open: a failed start changes no key or certificate.
        let identities = pki::Identities::ensure(options)?;
        let trust = if is_extension { ClientTrust::following() } else { ClientTrust::default() };
        let expiry = metrics.certificate_expiry().clone();
        let tls = Arc::new(ServingTls::new(&identities, options, expiry, trust)?);
        let encryption = load_encryption(options, &metrics).await?;
        let proxy_identity = Arc::new(ProxyIdentity::new(identities.proxy_identity.clone()));
        Ok(Self {
            data_directory,
            metrics,
            engine,
            identities,
            tls,
            encryption,
            auditor,
            proxy_identity,
            sampler,
        })
    }
}

/// Returns the controller that adds custom resources to what is served, and adds its tasks; `None` if their definitions
/// are not served.
fn custom_resources(
    installed: &InstalledApi,
    storages: &Arc<Storages>,
    served: &Arc<ServedApi>,
    tasks: &mut ServerTasks,
) -> Option<Arc<CustomResourceController>> {
    let controller = CustomResourceController::new(installed, storages.clone(), served.clone())?;
    tasks.informers.push(controller.informer());
    tasks.background.push(Box::pin(controller.clone().run()));
    if let Some((registration, informer)) = CustomRegistration::new(installed, controller.defined_versions())
    {
        tasks.informers.push(informer);
        tasks.background.push(Box::pin(registration.run()));
    }
    Some(controller)
}

/// Attaches the rules of single resources to their stores. Returns what they do after the start.
fn attach_rules(
    options: &Options,
    installed: &InstalledApi,
    dependencies: &ServerDependencies,
) -> Vec<Box<dyn resources::bootstrap::PostStartHook>> {
    resources::rbac::prevent_escalation(installed, &dependencies.services);
    resources::resource::restrict_access(installed, &dependencies.services);
    resources::attach_hooks(installed, options.serving.service_cluster_ip_range)
}

/// Keeps the authorizers up to date with the stores and the file that they follow.
fn follow_policy(authorization: &mut Authorization, installed: &InstalledApi, tasks: &mut ServerTasks) {
    tasks.informers.extend(authorization.follow(installed));
    tasks.background.extend(authorization.reloading());
}

/// Adds the tasks that aggregate cluster roles, if that is enabled.
fn aggregate_roles(options: &Options, installed: &InstalledApi, tasks: &mut ServerTasks) {
    if options.authorization.aggregate_cluster_roles
        && let Some((controller, informer)) = RoleAggregation::new(installed)
    {
        tasks.informers.push(informer);
        tasks.background.push(Box::pin(controller.run()));
    }
}

/// Returns what divides the server between requests; `None` if it is disabled.
fn flow_control(options: &Options, metrics: &ServerMetrics) -> Option<Arc<FlowControl>> {
    let limits = &options.limits;
    let seats = limits.max_requests_inflight.saturating_add(limits.max_mutating_requests_inflight);
    limits.enable_priority_and_fairness.then(|| FlowControl::new(seats, limits.request_timeout, metrics))
}

/// Returns what is behind the filters, and adds the tasks of the aggregator.
fn handler(
    options: &Options,
    installed: &InstalledApi,
    transports: Transports,
    (api, served): (Arc<Api>, &Arc<ServedApi>),
    lifecycle: &Lifecycle,
    tasks: &mut ServerTasks,
) -> Result<Arc<Handler>, ServerError> {
    let (routes, stopping) = (options.aggregator.enable_aggregator_routing, lifecycle.stopping.clone());
    let aggregation = Aggregation::new(installed, transports, routes, served, stopping);
    let remote = aggregation.map(|aggregation| {
        tasks.informers.extend(aggregation.informers);
        tasks.background.extend(aggregation.background);
        aggregation.remote
    });
    Ok(Arc::new(Aggregator::new(Arc::new(LargeBodies::new(api)?), remote)))
}

/// Returns the work of admission plug-ins beside requests: it writes, which an extension server leaves to its main server.
fn background(api: &Arc<Api>, is_extension: bool) -> Vec<BoxFuture<'static, ()>> {
    if is_extension {
        return Vec::new();
    }
    let kinds: Arc<dyn ServedKinds> = api.clone();
    api.admission().background(&kinds)
}

/// Returns the API configuration of these options.
fn api_config(
    options: &Options,
    storages: &Storages,
    metrics: &ServerMetrics,
    lifecycle: &Lifecycle,
) -> ApiConfig {
    ApiConfig {
        descriptions: resources::schema::descriptions,
        cbor: options.feature_gates().is_enabled(Feature::CBORServingAndStorage),
        encodings: storages.encodings().clone(),
        metrics: metrics.requests().clone(),
        watches: WatchTimes {
            minimum: Duration::from_secs(options.limits.min_request_timeout.into()),
            grace_period: options.shutdown.shutdown_watch_termination_grace_period,
            running: lifecycle.watches.clone(),
        },
    }
}

async fn load_encryption(
    options: &Options,
    metrics: &ServerMetrics,
) -> Result<Option<Arc<Encryption>>, EncryptionError> {
    let encryption = &options.encryption;
    let Some(path) = &encryption.encryption_provider_config else { return Ok(None) };
    let reloads = encryption.encryption_provider_config_automatic_reload;
    Encryption::load(path, reloads, metrics.storage().transform().clone()).await.map(Some)
}

async fn listen(options: &Options) -> Result<(TcpListener, SocketAddr), ServerError> {
    let address = SocketAddr::new(options.serving.bind_address, options.serving.secure_port);
    let failed = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Adds the checks of what only some servers have.
fn add_checks(
    health: &mut Health,
    custom_resources: Option<Arc<CustomResourceController>>,
    encryption: Option<&Encryption>,
) {
    if let Some(controller) = custom_resources {
        let check = Arc::new(CustomResourcesCheck(controller));
        health.add("poststarthook/crd-informer-synced", Endpoint::ALL, check);
    }
    if let Some(encryption) = encryption {
        health.add("kms-providers", Endpoint::ALL, encryption.check());
    }
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
