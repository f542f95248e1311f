//! Parts of the assembly of a server.

use std::sync::Arc;
use std::time::Duration;

use flowcontrol::FlowControl;
use futures::future::BoxFuture;
use registry_core::context::ClusterPolicy;
use registry_core::features::Feature;
use registry_core::registry::InstalledApi;
use resources::api::admissionregistration::{ResourceResolver, protect_parameters};
use resources::api::apiextensions::CustomResourceController;
use resources::api::apiregistration::CustomRegistration;
use resources::api::certificates::certificatesigningrequests::count_durations;
use resources::api::core::services::SharedStore;
use resources::api::rbac::RoleAggregation;

use crate::admission::ServedKinds;
use crate::aggregator::{Aggregation, RemoteApis, Transports};
use crate::authorization::Authorization;
use crate::controllers::{ControllerSetup, Controllers};
use crate::encryption::{Encryption, EncryptionError};
use crate::filters::Filters;
use crate::handlers::{Api, ApiConfig, ServedApi, WatchTimes};
use crate::health::{
    CustomResourcesCheck, Endpoint, EngineCheck, Health, PingCheck, ReadinessCheck, ShutdownCheck,
};
use crate::metrics::ServerMetrics;
use crate::options::{Controller, Options};
use crate::storage::{Engine, Storages};
use crate::zpages::Zpages;

use super::dependencies::ServerDependencies;
use super::flow_schemas::FlowSchemaInformer;
use super::post_start::{PostStartHooks, ServerTasks};
use super::renewal::{ServingCertificateCheck, ServingTls};
use super::{Handler, Lifecycle};

/// Returns the controller that adds custom resources to what is served, and adds its tasks; `None` if their definitions
/// are not served.
pub(super) fn custom_resources(
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

/// Returns what is served, and attaches the rules that ask for it to the stores.
pub(super) fn served_api(
    installed: &InstalledApi,
    config: &ApiConfig,
    lifecycle: &Lifecycle,
    dependencies: &ServerDependencies,
) -> Arc<ServedApi> {
    let served = ServedApi::new(installed, config, lifecycle.draining.clone());
    let resolver: Arc<dyn ResourceResolver> = served.clone();
    protect_parameters(installed, &dependencies.services, &resolver);
    served
}

/// Attaches the rules of single resources to their stores. Returns what they do after the start. Only servers that share
/// their store follow each other's writes.
pub(super) fn attach_rules(
    options: &Options,
    installed: &InstalledApi,
    dependencies: &ServerDependencies,
    metrics: &ServerMetrics,
    engine: &Engine,
) -> resources::AttachedWork {
    count_durations(installed, metrics.resources());
    resources::api::rbac::prevent_escalation(installed, &dependencies.services);
    let features = options.feature_gates().features();
    resources::api::resource::restrict_access(installed, &dependencies.services, features);
    let shared = || SharedStore { engine: engine.mvcc(), prefix: options.storage.key_prefix() };
    let shared = (!engine.has_one_server()).then(shared);
    let ranges = options.serving.service_allocation();
    let mut attached = resources::attach_hooks(installed, ranges, shared, features);
    if engine.has_one_server() {
        attached.informers.clear();
    }
    attached
}

/// Keeps the authorizers up to date with the stores and the file that they follow, and the roles with those that they
/// aggregate.
pub(super) fn follow_policy(
    options: &Options,
    authorization: &mut Authorization,
    installed: &InstalledApi,
    tasks: &mut ServerTasks,
) {
    tasks.informers.extend(authorization.follow(installed));
    tasks.background.extend(authorization.reloading());
    aggregate_roles(options, installed, tasks);
}

/// Adds the tasks that aggregate cluster roles, if that is enabled. They need not rest while kube-controller-manager runs: it
/// writes the same.
fn aggregate_roles(options: &Options, installed: &InstalledApi, tasks: &mut ServerTasks) {
    let is_running = options.controllers.runs(Controller::ClusterRoleAggregation, options.storage.backend());
    if (is_running || options.authorization.aggregate_cluster_roles)
        && let Some((controller, informer)) = RoleAggregation::new(installed)
    {
        tasks.informers.push(informer);
        tasks.background.push(Box::pin(controller.run()));
    }
}

/// Returns what divides the server between requests; `None` if it is disabled.
pub(super) fn flow_control(options: &Options, metrics: &ServerMetrics) -> Option<Arc<FlowControl>> {
    let limits = &options.limits;
    let seats = limits.max_requests_inflight.saturating_add(limits.max_mutating_requests_inflight);
    limits
        .enable_priority_and_fairness
        .then(|| FlowControl::new(seats, limits.request_timeout, metrics.flow_control(), metrics.storage()))
}

/// Keeps priority and fairness up to date with the stored levels and schemas, of which this server writes the status if
/// they are its own.
pub(super) fn follow_flows(
    known: &InstalledApi,
    flow_control: Option<&Arc<FlowControl>>,
    are_own: bool,
    tasks: &mut ServerTasks,
) -> Option<FlowSchemaInformer> {
    let (schemas, followed) = FlowSchemaInformer::new(known, flow_control?.clone(), are_own)?;
    tasks.informers.extend(followed);
    Some(schemas)
}

/// Returns the APIs of extension servers, and adds the tasks of the aggregator; `None` if it is disabled.
pub(super) fn remote_apis(
    options: &Options,
    installed: &InstalledApi,
    transports: Transports,
    served: &Arc<ServedApi>,
    metrics: &ServerMetrics,
    lifecycle: &Lifecycle,
    tasks: &mut ServerTasks,
) -> Option<Arc<RemoteApis>> {
    let (routes, stopping) = (options.aggregator.enable_aggregator_routing, lifecycle.stopping.clone());
    let aggregation = Aggregation::new(installed, transports, routes, served, metrics, stopping)?;
    tasks.informers.extend(aggregation.informers);
    tasks.background.extend(aggregation.background);
    Some(aggregation.remote)
}

/// Returns the work of admission plug-ins beside requests: it writes, which an extension server leaves to its main server.
pub(super) fn background(api: &Arc<Api>, is_extension: bool) -> Vec<BoxFuture<'static, ()>> {
    if is_extension {
        return Vec::new();
    }
    let kinds: Arc<dyn ServedKinds> = api.clone();
    api.admission().background(&kinds)
}

/// Returns the controllers that run in the server, beside requests.
pub(super) fn running_controllers(options: &Options) -> Vec<Controller> {
    let mut running = options.controllers.running(options.storage.backend());
    // `follow_policy` starts it.
    running.retain(|controller| *controller != Controller::ClusterRoleAggregation);
    if !options.storage.enable_garbage_collector {
        running.retain(|controller| *controller != Controller::GarbageCollector);
    }
    running
}

/// Adds the tasks of the controllers.
pub(super) fn run_controllers(
    setup: ControllerSetup<Handler>,
    installed: &InstalledApi,
    tasks: &mut ServerTasks,
) {
    if setup.running.is_empty() {
        return;
    }
    let (controllers, informer) = Controllers::new(setup, installed);
    tasks.informers.extend(informer);
    tasks.background.push(Box::pin(controllers.run()));
}

/// Returns the API configuration of these options.
pub(super) fn api_config(
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

pub(super) async fn load_encryption(
    options: &Options,
    metrics: &ServerMetrics,
) -> Result<Option<Arc<Encryption>>, EncryptionError> {
    let encryption = &options.encryption;
    let Some(path) = &encryption.encryption_provider_config else { return Ok(None) };
    let reloads = encryption.encryption_provider_config_automatic_reload;
    Encryption::load(path, reloads, metrics.storage().transform().clone()).await.map(Some)
}

/// Adds the checks of what only some servers have.
pub(super) fn add_checks(
    health: &mut Health,
    custom_resources: Option<Arc<CustomResourceController>>,
    encryption: Option<&Encryption>,
) {
    if let Some(controller) = custom_resources {
        let check = Arc::new(CustomResourcesCheck(controller));
        health.add("poststarthook/crd-informer-synced", Endpoint::ALL, check);
    }
    if let Some(encryption) = encryption {
        health.add("kms-providers", Endpoint::NOT_ALIVE, encryption.check());
    }
}

pub(super) fn health_checks(
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
    #[cfg(feature = "embedded")]
    for (resource, engine) in storages.backends().engines() {
        health.add(format!("backend-{resource}"), Endpoint::READY, Arc::new(EngineCheck::new(engine)));
    }
    for (number, engine) in storages.override_engines().iter().enumerate() {
        let check = Arc::new(EngineCheck::new(engine.mvcc()));
        health.add(format!("etcd-override-{number}"), Endpoint::ALIVE, check.clone());
        health.add(format!("etcd-override-readiness-{number}"), Endpoint::READY, check);
    }
    let caches = ReadinessCheck::new(installed.clone(), hooks.synced());
    health.add("informer-sync", Endpoint::READY, Arc::new(caches));
    for (name, completion) in hooks.completions() {
        health.add(name, Endpoint::ALL, completion);
    }
    health.add("serving-certificate", Endpoint::READY, Arc::new(ServingCertificateCheck(tls.clone())));
    health.add("shutdown", Endpoint::READY, Arc::new(ShutdownCheck(lifecycle.shutdown.clone())));
    health
}

/// Returns filters as the options want them.
pub(super) fn configured(filters: Filters<Handler>, options: &Options) -> Filters<Handler> {
    let policy = ClusterPolicy { allows_privileged: options.admission.allow_privileged };
    filters
        .with_policy(policy)
        .with_http(&options.http)
        .with_zpages(Zpages::for_options(options))
        .with_draining(options.shutdown.shutdown_send_retry_after.then(Arc::default))
}
