//! Builds a server, in phases: what it opens, the stores, and everything that reads from them.

use std::sync::Arc;

#[cfg(feature = "embedded")]
use registry_core::api::GroupResource;
use registry_core::api::clock::Clock;
use registry_core::registry::storage_map::{check_declarations, check_together};
use registry_core::registry::{InstalledApi, StorageMap};
use registry_core::resource::ResourceDescription;
use tokio_util::sync::CancellationToken;

use crate::authorization::{Authorization, Authorizer};
use crate::faults::Faults;
#[cfg(feature = "embedded")]
use crate::options::StorageChoice;
use crate::options::{Options, ServedResources};
use crate::shares::TurnBounds;
#[cfg(feature = "embedded")]
use crate::storage::Backends;
use crate::storage::Storages;

use super::assembly::{Assembly, OpenedStores};
use super::authored::Authored;
use super::dependencies::ServerDependencies;
use super::descriptors::Descriptors;
use super::error::ServerError;
use super::extension::MainServer;
use super::opening::{Checked, Opened};
use super::renewal::{CertificateRenewal, Presented};
use super::{Lifecycle, Server, admission, definitions, kubeconfig, post_start};

mod additions;

/// Builds a server.
#[derive(Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct ServerBuilder {
    /// `None` for the default ones, which are made when they are needed.
    options: Option<Options>,
    maps: Vec<&'static StorageMap>,
    without_builtin_resources: bool,
    is_extension: bool,
    authorizer: Option<Arc<dyn Authorizer>>,
    reaches_local_workloads: bool,
    shutdown: CancellationToken,
    clock: Clock,
    host_name: Option<String>,
    /// The calls of each webhook; `None` but in tests.
    webhook_calls: Option<TurnBounds>,
    /// `None` but in tests.
    faults: Option<Arc<Faults>>,
    authored: Authored,
}

// === impl ServerBuilder ===

impl ServerBuilder {
    /// Sets the options.
    pub fn options(mut self, options: Options) -> Self {
        self.options = Some(options);
        self
    }

    /// Adds a map whose resources are served.
    pub fn storage_map(mut self, map: &'static StorageMap) -> Self {
        if !self.maps.iter().any(|own| std::ptr::eq(*own, map)) {
            self.maps.push(map);
        }
        self
    }

    /// Adds maps whose resources are served.
    pub(crate) fn storage_maps(self, maps: &[&'static StorageMap]) -> Self {
        maps.iter().fold(self, |builder, map| builder.storage_map(map))
    }

    /// Excludes Kubernetes' built-in resources, which are served by default.
    pub fn without_builtin_resources(mut self) -> Self {
        self.without_builtin_resources = true;
        self
    }

    /// Makes this an extension server, which serves only its own resources, behind the main server of `--kubeconfig`:
    /// that one decides who the clients are and what they may do, has the namespaces, and the webhooks and policies of
    /// admission.
    ///
    /// Kubernetes concept: [API
    /// aggregation](https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/).
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

    /// Sets the name of this machine, by which the server identifies itself among the servers of its cluster. Servers on one
    /// machine that share a store need different ones.
    pub fn host_name(mut self, name: impl Into<String>) -> Self {
        self.host_name = Some(name.into());
        self
    }

    /// Sets the time of day that leases, tokens and finished jobs end by, for tests.
    pub(crate) fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets how many calls of each webhook there are, for tests.
    pub(crate) fn webhook_calls(mut self, calls: TurnBounds) -> Self {
        self.webhook_calls = Some(calls);
        self
    }

    /// Lets requests fail by rules, for tests of clients.
    pub(crate) fn faults(mut self, faults: Arc<Faults>) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Checks the flags, binds the port, locks the data directory, opens the storage, creates or reads keys and
    /// certificates, and writes the administrator's kubeconfig.
    ///
    /// # Errors
    /// Fails if any of these steps does; the text gives the reason.
    pub async fn build(mut self) -> Result<Server, ServerError> {
        let mut options = self.options.take().unwrap_or_default();
        let (authorizer, has_plugins) = (self.authorizer.clone(), self.authored.has_plugins());
        let host_name = self.host_name.take().or_else(post_start::host_name);
        let checked = Checked::new(&options, authorizer, self.is_extension, has_plugins, host_name)?;
        self.check_runtime_config(&options)?;
        #[cfg(feature = "embedded")]
        self.check_backends(&checked.storage_choice)?;
        let clock = self.clock.clone();
        let declared = self.declared();
        let opening = Opened::new(&mut options, checked, self.is_extension, clock, &declared);
        let mut opened = Box::pin(opening).await?;
        opened.webhook_calls = self.webhook_calls.unwrap_or(opened.webhook_calls);
        let main_server = if self.is_extension {
            Some(Box::pin(MainServer::open(&options, opened.tls.trust())).await?)
        } else {
            None
        };
        let authorization = if let Some(authorization) = opened.authorization.take() {
            authorization
        } else {
            let metrics = opened.metrics.authorization();
            Authorization::delegated(&options, self.authorizer.clone(), metrics)?
        };
        let stores = self.open_stores(&options, &opened, authorization, main_server)?;
        self.assemble(options, opened, stores)
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
        options: &Options,
        opened: &Opened,
        mut authorization: Authorization,
        main_server: Option<MainServer>,
    ) -> Result<OpenedStores, ServerError> {
        let (local, authorizer) = (self.reaches_local_workloads, authorization.authorizer());
        let dependencies = ServerDependencies::new(options, opened, authorizer, main_server.as_ref(), local)?;
        let services = dependencies.services.clone();
        let counted = opened.metrics.storage().clone();
        let features = options.feature_gates().features();
        let oldest_reader = options.emulation.releases().min_compatibility;
        let storages = Storages::new(opened.engine.clone(), &options.storage, services.clone(), counted)
            .with_encryption(opened.encryption.clone())
            .with_overrides(opened.overrides.clone())
            .with_release(features, oldest_reader);
        #[cfg(feature = "embedded")]
        let storages = storages.with_backends(Backends::new(self.authored.backends.clone()));
        let storages = Arc::new(storages);
        let installed = Arc::new(self.install(options, &storages)?);
        #[cfg(feature = "embedded")]
        if let Some(resource) = storages.backends().unserved() {
            return Err(ServerError::UnservedBackend(resource));
        }
        let known = match &main_server {
            Some(main_server) => Arc::new(main_server.beside(&installed, options, &services)?),
            None => installed.clone(),
        };
        opened.metrics.read_from(storages.reader());
        let main = main_server.as_ref().map(MainServer::cluster);
        let following = main_server.and_then(MainServer::follow).into_iter();
        let following = following.chain(authorization.reloading()).collect();
        Ok(OpenedStores { dependencies, authorization, storages, installed, known, main, following })
    }

    /// The second phase of the assembly: what reads from the stores, and the handlers.
    fn assemble(
        mut self,
        options: Options,
        opened: Opened,
        stores: OpenedStores,
    ) -> Result<Server, ServerError> {
        let lifecycle = Lifecycle::new(std::mem::take(&mut self.shutdown));
        let authored = std::mem::take(&mut self.authored);
        let mut authored = authored.within(stores.main.as_ref(), &lifecycle.shutdown);
        let descriptors = Descriptors::for_process().reported();
        let mut assembly = Assembly::new(&options, &opened, &stores, &lifecycle);
        let mut hooks = assembly.attach_rules();
        let (admission, manifests) = admission::chain(&assembly, |chain| authored.admit(chain))?;
        assembly.follow_policy();
        kubeconfig::write_all(&options, opened.address, &opened.identities)?;
        stores.dependencies.publish_keys(&options, opened.address);
        let handler = assembly.handler(admission, descriptors.proxied);
        hooks.extend(authored.hooks(handler.clone()));
        assembly.run_controllers(&handler);
        hooks.extend(assembly.elect_leaders(&handler));
        hooks.extend(assembly.publish_peer_address());
        let (filters, mut hooks) = assembly.filters(handler, hooks);
        hooks.run_beside(stores.following);
        hooks.run_beside(manifests);
        let presented = Presented {
            kubelet: stores.dependencies.kubelet_certificate(),
            proxy: opened.proxy_identity.clone(),
            peers: opened.peer_trust.clone(),
        };
        let (address, tls) = (opened.address, opened.tls.clone());
        let ca_pem = opened.identities.server_ca_pem.clone();
        let renewal = CertificateRenewal::new(options.clone(), address, tls, presented, opened.identities);
        Ok(Server {
            options,
            data_directory: opened.data_directory,
            listener: opened.listener,
            address,
            ca_pem,
            renewal: Arc::new(renewal),
            tls: opened.tls,
            engine: opened.engine,
            filters: Arc::new(filters.with_faults(self.faults)),
            hooks,
            authored: authored.work(),
            lifecycle,
            descriptors,
            long_work: opened.long_work,
            storages: stores.storages,
        })
    }

    /// Returns the maps whose resources are served.
    fn all_maps(&self) -> Vec<&'static StorageMap> {
        let builtin = (!self.without_builtin_resources).then_some(&resources::STORAGE_MAP);
        builtin.into_iter().chain(self.maps.iter().copied()).collect()
    }

    /// Checks that `--runtime-config` names APIs of this server, and that the maps fit together.
    fn check_runtime_config(&self, options: &Options) -> Result<(), ServerError> {
        let maps = self.all_maps();
        check_together(&maps)?;
        check_declarations(&maps)?;
        let resources = self.declared();
        definitions::check(&resources)?;
        Ok(options.runtime_config().check(&resources)?)
    }

    /// Installs the resources of every map that are enabled.
    fn install(&self, options: &Options, storages: &Storages) -> Result<InstalledApi, ServerError> {
        let declared = self.declared();
        options.runtime_config().warn(&declared, options.emulation.releases());
        options.feature_gates().warn();
        let served = ServedResources::new(options, &declared)?;
        let mut installed = InstalledApi::default();
        for map in self.all_maps() {
            let paths = map.install(storages, &|resource| served.contains(resource))?.paths;
            installed.paths.extend(paths);
        }
        Ok(installed)
    }
}
