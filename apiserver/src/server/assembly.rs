//! The second phase of the assembly of a server: what reads from its stores, and the handlers.

use std::sync::Arc;
use std::time::Duration;

use flowcontrol::{FlowControl, Mandatory};
use futures::future::BoxFuture;
use registry_core::context::ClusterPolicy;
use registry_core::features::Feature;
use registry_core::registry::{InstalledApi, LateResources};
use resources::api::admissionregistration::{ResourceResolver, protect_parameters};
use resources::api::apiextensions::CustomResourceController;
use resources::api::apiregistration::CustomRegistration;
use resources::api::certificates::certificatesigningrequests::count_durations;
use resources::api::core::services::SharedStore;
use resources::api::flowcontrol::mandatory;
use resources::api::rbac::RoleAggregation;
use resources::bootstrap::{PendingVersions, ServerFacts, server_identity};
use resources::post_start::PostStartHook;

use crate::admission::{AdmissionChain, ServedKinds};
use crate::aggregator::{
    Aggregation, AggregationSetup, Aggregator, PeerSetup, PeerTransport, Peering, Peers, RemoteApis,
};
use crate::api_client::leadership::LeadershipTimes;
use crate::authorization::Authorization;
use crate::controllers::{ControllerSetup, Controllers, Elections};
use crate::filters::Filters;
use crate::handlers::{Api, ApiConfig, ApiParts, ServedApi, WatchTimes};
use crate::health::{
    Completion, CustomResourcesCheck, Endpoint, EngineCheck, Health, PingCheck, ReadinessCheck, ShutdownCheck,
};
use crate::options::{Controller, Options, StorageBackend};
use crate::storage::Storages;
use crate::zpages::Zpages;

use super::dependencies::ServerDependencies;
use super::extension::MainCluster;
use super::flow_schemas::FlowSchemaInformer;
use super::long_requests::LongRequests;
use super::opening::Opened;
use super::peer_leases::{PeerLease, StoredPeerLeases};
use super::post_start::{PostStartHooks, ServerTasks, peer_address, server_facts};
use super::renewal::ServingCertificateCheck;
use super::{Handler, Lifecycle};

/// The stores of all resources, and what they need themselves: the results of the first phase of the assembly.
pub(super) struct OpenedStores {
    pub(super) dependencies: ServerDependencies,
    pub(super) authorization: Authorization,
    pub(super) storages: Arc<Storages>,
    /// The resources that are served.
    pub(super) installed: Arc<InstalledApi>,
    /// The resources that admission reads: the served ones, and resources of a main server.
    pub(super) known: Arc<InstalledApi>,
    /// A main server, and its kinds.
    pub(super) main: Option<MainCluster>,
    /// The tasks that follow the authentication of a main server, and the configuration of authorizers.
    pub(super) following: Vec<BoxFuture<'static, ()>>,
}

/// A server that is being assembled.
pub(super) struct Assembly<'a> {
    pub(super) options: &'a Options,
    pub(super) opened: &'a Opened,
    pub(super) stores: &'a OpenedStores,
    lifecycle: &'a Lifecycle,
    config: ApiConfig,
    served: Arc<ServedApi>,
    /// Adds custom resources to what is served; `None` if their definitions are not served.
    custom_resources: Option<Arc<CustomResourceController>>,
    /// Whether the other servers of the cluster were asked what they serve, if requests are forwarded to them.
    peers_asked: Option<Arc<Completion>>,
    tasks: ServerTasks,
}

// === impl Assembly ===

impl<'a> Assembly<'a> {
    pub(super) fn new(
        options: &'a Options,
        opened: &'a Opened,
        stores: &'a OpenedStores,
        lifecycle: &'a Lifecycle,
    ) -> Self {
        let config = ApiConfig {
            descriptions: if options.feature_gates().is_enabled(Feature::OpenAPIEnums) {
                resources::schema::descriptions_with_enums
            } else {
                resources::schema::descriptions
            },
            cbor: options.feature_gates().is_enabled(Feature::CBORServingAndStorage),
            shards: options.feature_gates().is_enabled(Feature::ShardedListAndWatch),
            corrupt_object_deletion: options
                .feature_gates()
                .is_enabled(Feature::AllowUnsafeMalformedObjectDeletion),
            encodings: stores.storages.encodings().clone(),
            metrics: opened.metrics.requests().clone(),
            watches: WatchTimes {
                minimum: Duration::from_secs(options.limits.min_request_timeout.into()),
                grace_period: options.shutdown.shutdown_watch_termination_grace_period,
                running: lifecycle.watches.clone(),
            },
        };
        let served = ServedApi::new(&stores.installed, &config, lifecycle.draining.clone());
        let tasks = ServerTasks::default();
        Self {
            options,
            opened,
            stores,
            lifecycle,
            config,
            served,
            custom_resources: None,
            peers_asked: None,
            tasks,
        }
    }

    /// Whether the server leaves to its main server what only one of them may do.
    fn is_extension(&self) -> bool {
        self.stores.main.is_some()
    }

    /// Attaches the rules of single resources to their stores. Returns what they do after the start. Only servers that share
    /// their store follow each other's writes.
    pub(super) fn attach_rules(&mut self) -> Vec<Box<dyn PostStartHook>> {
        let OpenedStores { installed, dependencies, .. } = self.stores;
        count_durations(installed, self.opened.metrics.resources());
        resources::api::rbac::prevent_escalation(installed, &dependencies.services);
        let features = self.options.feature_gates().features();
        resources::api::resource::restrict_access(installed, &dependencies.services, features);
        let engine = &self.opened.engine;
        let shared = || SharedStore { engine: engine.mvcc(), prefix: self.options.storage.key_prefix() };
        let shared = (!engine.has_one_server()).then(shared);
        let ranges = self.options.serving.service_allocation();
        let attached = resources::attach_hooks(installed, ranges, shared, features);
        if !engine.has_one_server() {
            self.tasks.informers.extend(attached.informers);
        }
        attached.hooks
    }

    /// Keeps the authorizers up to date with the stores that they follow, and the roles with those that they aggregate.
    pub(super) fn follow_policy(&mut self) {
        let installed = &self.stores.installed;
        self.tasks.informers.extend(self.stores.authorization.follow(installed));
        let backend = self.options.storage.backend();
        let is_running = self.options.controllers.runs(Controller::ClusterRoleAggregation, backend);
        // It need not rest while kube-controller-manager runs, which writes the same.
        if (is_running || self.options.authorization.aggregate_cluster_roles)
            && let Some((controller, informer)) = RoleAggregation::new(installed)
        {
            self.tasks.informers.push(informer);
            self.tasks.background.push(Box::pin(controller.run()));
        }
    }

    /// Returns the handler of requests, which passes on at most this number of connections at once.
    pub(super) fn handler(&mut self, admission: AdmissionChain, max_proxied: usize) -> Arc<Handler> {
        let OpenedStores { installed, dependencies, authorization, .. } = self.stores;
        let resolver: Arc<dyn ResourceResolver> = self.served.clone();
        protect_parameters(installed, &dependencies.services, &resolver);
        self.tasks.informers.extend(admission.informers());
        self.follow_definitions();
        let stopping = self.lifecycle.stopping.clone();
        let parts = ApiParts {
            admission,
            authorizer: Some(authorization.authorizer()),
            proxy: Some(dependencies.proxy(self.opened.address, max_proxied, stopping)),
            late: self.custom_resources.clone().map(|late| late as Arc<dyn LateResources>),
        };
        let api = Api::over(self.served.clone(), parts, self.config.clone());
        // The work of admission plug-ins beside requests writes, which an extension server leaves to its main server.
        if !self.is_extension() {
            let kinds: Arc<dyn ServedKinds> = api.clone();
            self.tasks.background.extend(api.admission().background(&kinds));
        }
        let api = Arc::new(LongRequests::new(api, self.opened.long_work.clone()));
        let remote = self.remote_apis();
        let peers = self.peers(remote.as_deref());
        Arc::new(Aggregator::new(api, remote, peers))
    }

    /// Adds custom resources to what is served, if their definitions are served.
    fn follow_definitions(&mut self) {
        let OpenedStores { installed, storages, .. } = self.stores;
        let controller = CustomResourceController::new(installed, storages.clone(), self.served.clone());
        let Some(controller) = controller else { return };
        self.tasks.informers.push(controller.informer());
        self.tasks.background.push(Box::pin(controller.clone().run()));
        let registration = CustomRegistration::new(installed, controller.defined_versions());
        if let Some((registration, informer)) = registration {
            self.tasks.informers.push(informer);
            self.tasks.background.push(Box::pin(registration.run()));
        }
        self.custom_resources = Some(controller);
    }

    /// Returns the APIs of extension servers; `None` if there can be none.
    fn remote_apis(&mut self) -> Option<Arc<RemoteApis>> {
        let Opened { address, metrics, proxy_identity, .. } = self.opened;
        let setup = AggregationSetup {
            resolver: self.stores.dependencies.resolver.clone(),
            identity: proxy_identity.clone(),
            own: *address,
            routes_to_endpoints: self.options.aggregator.enable_aggregator_routing,
            metrics,
            shutdown: self.lifecycle.stopping.clone(),
        };
        let aggregation = Aggregation::new(setup, &self.stores.installed, &self.served)?;
        self.tasks.informers.extend(aggregation.informers);
        self.tasks.background.extend(aggregation.background);
        Some(aggregation.remote)
    }

    /// Returns the other servers of the cluster; `None` if requests are not forwarded to them.
    fn peers(&mut self, remote: Option<&RemoteApis>) -> Option<Arc<Peers>> {
        let Opened { address, metrics, proxy_identity, .. } = self.opened;
        let trust = self.opened.peer_trust.clone()?;
        let own = server_identity(self.opened.host_name.as_deref()?);
        let route = self.opened.egress.control_plane.clone();
        let asked = Arc::<Completion>::default();
        let setup = PeerSetup {
            own,
            served: self.served.clone(),
            addresses: self.peer_leases(),
            transport: PeerTransport::new(trust, proxy_identity.clone(), route, *address),
            metrics: metrics.peers().clone(),
            asked: asked.clone(),
            shutdown: self.lifecycle.stopping.clone(),
        };
        let peering = Peering::new(setup, &self.stores.installed, remote)?;
        self.tasks.informers.extend(peering.informers);
        self.tasks.background.push(peering.background);
        self.peers_asked = Some(asked);
        Some(peering.peers)
    }

    /// Returns the addresses of the servers of the cluster.
    fn peer_leases(&self) -> Arc<StoredPeerLeases> {
        let prefix = self.options.storage.key_prefix();
        Arc::new(StoredPeerLeases::new(self.opened.engine.mvcc(), &prefix))
    }

    /// Publishes the address of this server for the others, if a flag `--peer-…` is given.
    pub(super) fn publish_peer_address(&self) -> Option<Box<dyn PostStartHook>> {
        let flag = self.options.peers.given()?;
        let name = self.opened.host_name.as_deref().map(server_identity);
        let address = peer_address(self.options, self.opened.address);
        let (Some(name), Some(address)) = (name, address) else {
            tracing::warn!(
                "{flag}: the other servers do not reach this one, of which no address is known: set --peer-advertise-ip"
            );
            return None;
        };
        Some(Box::new(PeerLease { leases: self.peer_leases(), name, address }))
    }

    /// Runs the controllers of the server, whose requests this handler handles.
    pub(super) fn run_controllers(&mut self, handler: &Arc<Handler>) {
        if self.is_extension() {
            return;
        }
        let backend = self.options.storage.backend();
        let mut running = self.options.controllers.running(backend);
        // `follow_policy` starts it.
        running.retain(|controller| *controller != Controller::ClusterRoleAggregation);
        if !self.options.storage.enable_garbage_collector {
            running.retain(|controller| *controller != Controller::GarbageCollector);
        }
        if running.is_empty() {
            return;
        }
        let setup = ControllerSetup {
            handler: handler.clone(),
            auditor: self.opened.auditor.clone(),
            served: self.served.clone(),
            running,
            ca_pem: self.opened.identities.server_ca_pem.clone(),
            shares_store: backend == StorageBackend::Etcd3,
            clock: self.opened.clock.clone(),
        };
        let (controllers, informer) = Controllers::new(setup, &self.stores.installed);
        self.tasks.informers.extend(informer);
        self.tasks.background.push(Box::pin(controllers.run()));
    }

    /// Elects leaders among the candidates that name themselves, if the gate is enabled. Returns the hook that says so.
    pub(super) fn elect_leaders(&mut self, handler: &Arc<Handler>) -> Option<Box<dyn PostStartHook>> {
        let gates = self.options.feature_gates();
        if self.is_extension() || !gates.is_enabled(Feature::CoordinatedLeaderElection) {
            return None;
        }
        let flags = &self.options.leadership;
        let times = LeadershipTimes {
            duration: flags.coordinated_leadership_lease_duration,
            renew_deadline: flags.coordinated_leadership_renew_deadline,
            period: flags.coordinated_leadership_retry_period,
        };
        let (auditor, clock) = (self.opened.auditor.clone(), self.opened.clock.clone());
        let installed = &self.stores.installed;
        let elections = Elections::new(handler.clone(), auditor, times, clock, installed);
        let Some((elections, informers, hook)) = elections else {
            tracing::warn!(
                "--feature-gates: CoordinatedLeaderElection elects nobody without \
                 --runtime-config=coordination.k8s.io/v1beta1=true"
            );
            return None;
        };
        self.tasks.informers.extend(informers);
        self.tasks.background.push(Box::pin(elections.run(self.lifecycle.shutdown.clone())));
        Some(Box::new(hook))
    }

    /// Returns the filters before this handler, and the hooks of the server, of which these are the first.
    pub(super) fn filters(
        mut self,
        handler: Arc<Handler>,
        hooks: Vec<Box<dyn PostStartHook>>,
    ) -> (Filters<Handler>, PostStartHooks) {
        let (options, opened, stores) = (self.options, self.opened, self.stores);
        let flow_control = self.flow_control();
        let schemas = flow_control.as_ref().and_then(|control| self.follow_flows(control));
        let host_name = opened.host_name.clone();
        let facts = server_facts(options, opened.address, opened.tls.published(), &opened.engine, host_name);
        let pending_versions = self.pending_versions();
        let facts = ServerFacts { pending_versions: pending_versions.clone(), ..facts };
        let tasks = std::mem::take(&mut self.tasks);
        let hooks = PostStartHooks::new(&stores.installed, &facts, hooks, schemas, tasks);
        let health = self.health_checks(&hooks);
        let authenticator = stores.dependencies.authenticator.clone();
        let authorizer = stores.authorization.authorizer();
        let (limits, metrics) = (&options.limits, opened.metrics.clone());
        let gates = options.feature_gates();
        let filters = Filters::new(handler, authenticator, authorizer, limits, metrics)
            .with_flow_control(flow_control)
            .with_health(health)
            .with_policy(ClusterPolicy { allows_privileged: options.admission.allow_privileged })
            .with_http(&options.http)
            .with_zpages(Zpages::for_options(options))
            .ending_unauthenticated(gates.is_enabled(Feature::UnauthenticatedHTTP2DOSMitigation))
            .with_pending_versions(pending_versions)
            .with_draining(options.shutdown.shutdown_send_retry_after.then(Arc::default))
            .with_auditor(opened.auditor.clone())
            .with_sampler(opened.sampler);
        (filters, hooks)
    }

    /// Returns the resources that are not written before the server has said how it stores them, if the gate is enabled.
    fn pending_versions(&self) -> Option<Arc<PendingVersions>> {
        let is_enabled = self.options.feature_gates().is_enabled(Feature::StorageVersionAPI);
        if self.is_extension() || !is_enabled {
            return None;
        }
        // They belong to the identity of the server.
        let has_identity = self.opened.host_name.is_some();
        let pending = has_identity.then(|| PendingVersions::new(&self.stores.installed)).flatten();
        if pending.is_none() {
            tracing::warn!(
                "--feature-gates: StorageVersionAPI writes no StorageVersions without \
                 --runtime-config=internal.apiserver.k8s.io/v1alpha1=true and the name of this machine"
            );
        }
        pending.map(Arc::new)
    }

    /// Returns what divides the server between requests; `None` if it is disabled.
    fn flow_control(&self) -> Option<Arc<FlowControl>> {
        let (limits, metrics) = (&self.options.limits, &self.opened.metrics);
        let seats = limits.max_requests_inflight.saturating_add(limits.max_mutating_requests_inflight);
        let control = || {
            let (flows, storage) = (metrics.flow_control(), metrics.storage());
            FlowControl::new(
                seats,
                limits.request_timeout,
                flows,
                storage,
                Mandatory::new(mandatory::specs()),
            )
        };
        limits.enable_priority_and_fairness.then(control)
    }

    /// Keeps priority and fairness up to date with the stored levels and schemas, of which this server writes the status if
    /// they are its own.
    fn follow_flows(&mut self, control: &Arc<FlowControl>) -> Option<FlowSchemaInformer> {
        let are_own = !self.is_extension();
        let (schemas, followed) = FlowSchemaInformer::new(&self.stores.known, control.clone(), are_own)?;
        self.tasks.informers.extend(followed);
        Some(schemas)
    }

    fn health_checks(&self, hooks: &PostStartHooks) -> Health {
        let Opened { engine, tls, encryption, .. } = self.opened;
        let OpenedStores { storages, known, .. } = self.stores;
        let store = Arc::new(EngineCheck::new(engine.mvcc()));
        let mut health = Health::default();
        health.tolerate_for(self.options.http.livez_grace_period);
        health.add("ping", Endpoint::ALL, Arc::new(PingCheck));
        health.add("etcd", Endpoint::ALIVE, store.clone());
        health.add("etcd-readiness", Endpoint::READY, store);
        #[cfg(feature = "embedded")]
        for (resource, engine) in storages.backends().engines() {
            health.add(format!("backend-{resource}"), Endpoint::READY, Arc::new(EngineCheck::new(engine)));
        }
        for (number, engine) in storages.override_engines().iter().enumerate() {
            let check = Arc::new(EngineCheck::new(engine.mvcc()));
            health.add(format!("etcd-override-{number}"), Endpoint::ALIVE, check.clone());
            health.add(format!("etcd-override-readiness-{number}"), Endpoint::READY, check);
        }
        let caches = ReadinessCheck::new(known.clone(), hooks.synced());
        health.add("informer-sync", Endpoint::READY, Arc::new(caches));
        for (name, completion) in hooks.completions() {
            health.add(name, Endpoint::ALL, completion);
        }
        health.add("serving-certificate", Endpoint::READY, Arc::new(ServingCertificateCheck(tls.clone())));
        health.add("shutdown", Endpoint::READY, Arc::new(ShutdownCheck(self.lifecycle.shutdown.clone())));
        if let Some(controller) = &self.custom_resources {
            let check = Arc::new(CustomResourcesCheck(controller.clone()));
            health.add("poststarthook/crd-informer-synced", Endpoint::ALL, check);
        }
        if let Some(asked) = &self.peers_asked {
            health.add("poststarthook/peer-discovery-workers", Endpoint::ALL, asked.clone());
        }
        if encryption.as_ref().is_some_and(|encryption| encryption.reloads()) {
            let name = "poststarthook/start-encryption-provider-config-automatic-reload";
            health.add(name, Endpoint::ALL, Arc::new(PingCheck));
        }
        for (name, check) in encryption.iter().flat_map(|encryption| encryption.checks()) {
            health.add(name, Endpoint::NOT_ALIVE, check);
        }
        health
    }
}
