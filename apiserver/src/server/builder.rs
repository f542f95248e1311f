//! Builds a server, in phases: what it opens, the stores, and everything that reads from them.

use std::sync::Arc;

use futures::future::BoxFuture;
#[cfg(feature = "embedded")]
use registry_core::api::GroupResource;
use registry_core::api::clock::Clock;
use registry_core::registry::storage_map::{check_declarations, check_together};
use registry_core::registry::{InstalledApi, LateResources, StorageMap};
use registry_core::resource::ResourceDescription;
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionChain;
use crate::aggregator::{Aggregator, Transports};
use crate::authorization::{Authorization, Authorizer};
use crate::controllers::ControllerSetup;
use crate::faults::Faults;
use crate::filters::Filters;
use crate::handlers::{Api, ApiParts};
#[cfg(feature = "embedded")]
use crate::options::StorageChoice;
use crate::options::{Options, ServedResources, StorageBackend};
use crate::server::error::ServerError;
#[cfg(feature = "embedded")]
use crate::storage::Backends;
use crate::storage::Storages;

use super::assembly::{
    add_checks, api_config, attach_rules, background, configured, custom_resources, flow_control,
    follow_flows, follow_policy, health_checks, remote_apis, run_controllers, running_controllers,
    served_api,
};
use super::authored::Authored;
use super::dependencies::{Clients, ServerDependencies};
use super::descriptors::Descriptors;
use super::extension::{MainCluster, MainServer};
use super::long_requests::LongRequests;
use super::opening::{Checked, Opened};
use super::post_start::{PostStartHooks, ServerTasks};
use super::renewal::CertificateRenewal;
use super::{Lifecycle, Server, admission, definitions, kubeconfig, post_start};

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
    clock: Clock,
    /// `None` but in tests.
    faults: Option<Arc<Faults>>,
    pub(super) authored: Authored,
}

/// The results of the first phase of the assembly.
struct OpenedStores {
    dependencies: ServerDependencies,
    authorization: Authorization,
    storages: Arc<Storages>,
    /// The resources that are served.
    installed: Arc<InstalledApi>,
    /// The resources that admission reads: the served ones, and resources of a main server.
    known: Arc<InstalledApi>,
    /// A main server, and its kinds.
    main: Option<MainCluster>,
    /// The tasks that follow the authentication of a main server.
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

    /// Sets the time of day that leases, tokens and finished jobs end by, for tests.
    pub(crate) fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Lets requests fail by rules, for tests of clients.
    pub(crate) fn faults(mut self, faults: Arc<Faults>) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Checks the flags, binds the port, locks the data directory, opens the storage, creates or reads keys and certificates,
    /// and writes the administrator's kubeconfig.
    ///
    /// # Errors
    /// Fails if any of these steps does; the text gives the reason.
    pub async fn build(mut self) -> Result<Server, ServerError> {
        let (authorizer, has_plugins) = (self.authorizer.clone(), self.authored.has_plugins());
        let checked = Checked::new(&self.options, authorizer, self.is_extension, has_plugins)?;
        self.check_runtime_config()?;
        #[cfg(feature = "embedded")]
        self.check_backends(&checked.storage_choice)?;
        let clock = self.clock.clone();
        let declared = self.declared();
        let opening = Opened::new(&mut self.options, checked, self.is_extension, clock, &declared);
        let mut opened = Box::pin(opening).await?;
        let main_server = if self.is_extension {
            Some(Box::pin(MainServer::open(&self.options, opened.tls.trust())).await?)
        } else {
            None
        };
        let authorization = opened.authorization.take();
        let mut stores = self.open_stores(&opened, authorization, main_server.as_ref())?;
        stores.following.extend(main_server.and_then(MainServer::follow));
        self.assemble(opened, stores)
    }

    /// Checks that the flags leave the objects of a backend to it.
    #[cfg(feature = "embedded")]
    fn check_backends(&self, choice: &StorageChoice) -> Result<(), ServerError> {
        let StorageChoice::Etcd3(etcd) = choice else { return Ok(()) };
        let is_overridden = |resource: &&GroupResource| {
            let mut overrides = etcd.overrides.iter();
            overrides.any(|given| given.group == resource.group && given.resource == resource.resource)
        };
        match self.authored.backends.keys().find(is_overridden) {
            Some(resource) => Err(ServerError::OverriddenBackend(*resource)),
            None => Ok(()),
        }
    }

    /// Returns the resources of every map, enabled or not.
    fn declared(&self) -> Vec<&'static ResourceDescription> {
        let maps = self.all_maps();
        let entries = maps.iter().flat_map(|map| map.versions).flat_map(|version| version.entries);
        entries.map(|entry| entry.resource).collect()
    }

    /// The first phase of the assembly: the stores of all resources, and what they need themselves. Whoever reads from
    /// the stores is created after it: informers, admission, hooks, and the handlers.
    fn open_stores(
        &self,
        opened: &Opened,
        authorization: Option<Authorization>,
        main_server: Option<&MainServer>,
    ) -> Result<OpenedStores, ServerError> {
        let Opened { metrics, engine, tls, encryption, .. } = opened;
        let authorization = match authorization {
            Some(authorization) => authorization,
            None => {
                Authorization::delegated(&self.options, self.authorizer.clone(), metrics.authorization())?
            }
        };
        let clients = match main_server {
            Some(main_server) => Clients::OfMainServer(main_server),
            None => Clients::Own(tls.trust(), metrics.jwt().clone(), opened.signer.clone()),
        };
        let reaches_local = self.reaches_local_workloads;
        let authorizer = authorization.authorizer();
        let clock = self.clock.clone();
        let options = &self.options;
        let (egress, reaches) = (&opened.egress, reaches_local);
        let dependencies =
            ServerDependencies::new(options, engine, authorizer, reaches, clients, clock, egress)?;
        let services = dependencies.services.clone();
        let counted = metrics.storage().clone();
        let storages = Storages::new(engine.clone(), &self.options.storage, services, counted);
        let features = self.options.feature_gates().features();
        let oldest_reader = self.options.emulation.releases().min_compatibility;
        let storages = storages
            .with_encryption(encryption.clone())
            .with_overrides(opened.overrides.clone())
            .with_release(features, oldest_reader);
        #[cfg(feature = "embedded")]
        let storages = storages.with_backends(Backends::new(self.authored.backends.clone()));
        let storages = Arc::new(storages);
        let installed = Arc::new(self.install(&storages)?);
        #[cfg(feature = "embedded")]
        if let Some(resource) = storages.backends().unserved() {
            return Err(ServerError::UnservedBackend(resource));
        }
        let known = match main_server {
            Some(main_server) => {
                Arc::new(main_server.beside(&installed, &self.options, &dependencies.services)?)
            }
            None => installed.clone(),
        };
        metrics.read_from(storages.reader());
        let main = main_server.map(MainServer::cluster);
        let following = Vec::new();
        Ok(OpenedStores { dependencies, authorization, storages, installed, known, main, following })
    }

    /// The second phase of the assembly: what reads from the stores, and the handlers.
    fn assemble(mut self, opened: Opened, stores: OpenedStores) -> Result<Server, ServerError> {
        let Opened { data_directory, metrics, engine, identities, tls, encryption, proxy_identity, .. } =
            opened;
        let (listener, address) = (opened.listener, opened.address);
        let OpenedStores { dependencies, mut authorization, storages, installed, known, main, following } =
            stores;
        let lifecycle = Lifecycle::new(std::mem::take(&mut self.shutdown));
        let mut authored = std::mem::take(&mut self.authored).within(main.as_ref(), &lifecycle.shutdown);
        let options = &self.options;
        let facts = post_start::server_facts(options, address, tls.published(), &engine);
        let flow_control = flow_control(options, &metrics);
        let mut attached = attach_rules(options, &installed, &dependencies, &metrics, &engine);
        let kinds = main.as_ref().map(|main| &main.kinds);
        let add = |chain: &mut AdmissionChain| authored.admit(chain);
        let admission = admission::chain(&known, &dependencies, &metrics, options, kinds, add)?;
        attached.informers.extend(admission.informers());
        let mut tasks = ServerTasks { informers: attached.informers, background: following };
        follow_policy(options, &mut authorization, &installed, &mut tasks);
        kubeconfig::write_all(options, address, &identities)?;
        dependencies.publish_keys(options, address);
        let authenticator = dependencies.authenticator.clone();
        let kubelet_certificate = dependencies.kubelet_certificate();
        let config = api_config(options, &storages, &metrics, &lifecycle);
        let served = served_api(&installed, &config, &lifecycle, &dependencies);
        let descriptors = Descriptors::for_process().reported();
        let transports = Transports::new(dependencies.resolver.clone(), proxy_identity.clone(), address);
        let (local, clock) = (self.reaches_local_workloads, self.clock.clone());
        let proxy = dependencies.proxy(address, local, descriptors.proxied, lifecycle.stopping.clone());
        let custom_resources = custom_resources(&installed, &storages, &served, &mut tasks);
        let late = custom_resources.clone().map(|late| late as Arc<dyn LateResources>);
        let authorizer = authorization.authorizer();
        let parts = ApiParts { admission, authorizer: Some(authorizer.clone()), proxy: Some(proxy), late };
        let api = Api::over(served.clone(), parts, config);
        tasks.background.extend(background(&api, self.is_extension));
        let remote = remote_apis(options, &installed, transports, &served, &metrics, &lifecycle, &mut tasks);
        let api = Arc::new(LongRequests::new(api, opened.long_work.clone()));
        let handler = Arc::new(Aggregator::new(api, remote));
        attached.hooks.extend(authored.hooks(handler.clone()));
        let ca_pem = identities.server_ca_pem.clone();
        if !self.is_extension {
            let setup = ControllerSetup {
                handler: handler.clone(),
                auditor: opened.auditor.clone(),
                served: served.clone(),
                running: running_controllers(options),
                ca_pem: ca_pem.clone(),
                shares_store: options.storage.backend() == StorageBackend::Etcd3,
                clock,
            };
            run_controllers(setup, &installed, &mut tasks);
        }
        let schemas = follow_flows(&known, flow_control.as_ref(), !self.is_extension, &mut tasks);
        let hooks = PostStartHooks::new(&installed, &facts, attached.hooks, schemas, tasks);
        let mut health = health_checks(&storages, &known, &hooks, &tls, &lifecycle);
        health.tolerate_for(options.http.livez_grace_period);
        add_checks(&mut health, custom_resources, encryption.as_deref());
        let limits = &options.limits;
        let filters = Filters::new(handler, authenticator, authorizer, flow_control, health, limits, metrics);
        let filters = configured(filters, options).with_auditor(opened.auditor).with_sampler(opened.sampler);
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
            filters: Arc::new(filters.with_faults(self.faults)),
            hooks,
            authored: authored.work(),
            lifecycle,
            descriptors,
            long_work: opened.long_work,
            storages,
        })
    }

    /// Returns the maps whose resources are served.
    fn all_maps(&self) -> Vec<&'static StorageMap> {
        let builtin = (!self.without_builtin_resources).then_some(&resources::STORAGE_MAP);
        builtin.into_iter().chain(self.maps.iter().copied()).collect()
    }

    /// Checks that `--runtime-config` names APIs of this server, and that the maps fit together.
    fn check_runtime_config(&self) -> Result<(), ServerError> {
        let maps = self.all_maps();
        check_together(&maps)?;
        check_declarations(&maps)?;
        let resources = self.declared();
        definitions::check(&resources)?;
        Ok(self.options.runtime_config().check(&resources)?)
    }

    /// Installs the resources of every map that are enabled.
    fn install(&self, storages: &Storages) -> Result<InstalledApi, ServerError> {
        let declared = self.declared();
        self.options.runtime_config().warn(&declared, self.options.emulation.releases());
        self.options.feature_gates().warn();
        let served = ServedResources::new(&self.options, &declared)?;
        let mut installed = InstalledApi::default();
        for map in self.all_maps() {
            let paths = map.install(storages, &|resource| served.contains(resource))?.paths;
            installed.paths.extend(paths);
        }
        Ok(installed)
    }
}
