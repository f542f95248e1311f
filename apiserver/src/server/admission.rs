//! The admission plug-ins of a server.

use std::path::PathBuf;
use std::sync::Arc;

use clients::{Client, ClientSettings, ServiceResolver, SettingsError};
use registry_core::features::Feature;
use registry_core::registry::Services;
use registry_core::rest::webhook::{WebhookCaller, WebhookTarget};
use resources::admission::{AdmissionConfiguration, AdmissionSettings};

use crate::admission::manifests::FollowTasks;
use crate::admission::{AdmissionChain, NamespaceLifecycle, PolicySetup, add_policies, webhooks};
use crate::options::Controller;
use crate::shares::TurnBounds;
use crate::webhooks::Webhooks;

use super::assembly::Assembly;
use super::dependencies::ServerDependencies;
use super::error::ServerError;
use super::manifests;

/// Returns the plug-ins that are installed and enabled, in the order in which they run, and the tasks that follow their
/// directories. An extension server has those that work on any kind; the others are about kinds of its main server.
/// `add_authored` adds those of the server's author.
///
/// # Errors
/// Fails if an option names a plug-in that does not exist, or a file that cannot be used.
pub(super) fn chain(
    assembly: &Assembly<'_>,
    add_authored: impl FnOnce(&mut AdmissionChain),
) -> Result<(AdmissionChain, FollowTasks), ServerError> {
    let (options, metrics, installed) = (assembly.options, &assembly.opened.metrics, &assembly.stores.known);
    let ServerDependencies { services, resolver, .. } = &assembly.stores.dependencies;
    let main_kinds = assembly.stores.main.as_ref().map(|main| &main.kinds);
    let mut chain = AdmissionChain::default();
    if let Some(lifecycle) = NamespaceLifecycle::new(installed) {
        let runs_controller = options.runs_controller(Controller::Namespace);
        chain.mutating.push(Arc::new(lifecycle.beside_controller(runs_controller)));
    }
    let gates = options.feature_gates();
    let configuration = options.admission.configuration(gates.features())?;
    let (mut directories, mut tasks) = (manifests::directories(options)?, FollowTasks::new());
    let with_directory = directories.plugins();
    let callers =
        callers(&configuration, services, resolver, assembly.opened.webhook_calls).map_err(|source| {
            let place = "--admission-control-config-file: kubeConfigFile";
            ServerError::Kubeconfig { place, source }
        })?;
    let followed = (&mut directories, &mut tasks);
    let webhooks = webhooks::plugins(installed, services, callers, metrics.admission(), followed);
    let own = main_kinds.is_none().then(|| plugins_for_kinds(assembly, configuration));
    for plugins in own.into_iter().chain([webhooks]) {
        chain.mutating.extend(plugins.mutating);
        chain.validating.extend(plugins.validating);
    }
    let setup = PolicySetup {
        access: services.access.clone(),
        metrics: metrics.admission().clone(),
        main: main_kinds.cloned(),
    };
    add_policies(&mut chain, installed, &setup, (&mut directories, &mut tasks));
    if main_kinds.is_none() && !gates.is_enabled(Feature::MutatingAdmissionPolicy) {
        chain.mutating.retain(|plugin| plugin.name() != Feature::MutatingAdmissionPolicy.name());
    }
    add_authored(&mut chain);
    options.admission.apply(&mut chain)?;
    match with_directory.into_iter().find(|plugin| !chain.names().any(|name| name == *plugin)) {
        Some(plugin) => Err(ServerError::UnservedManifests(plugin)),
        None => Ok((chain, tasks)),
    }
}

/// Returns the plug-ins that are about Kubernetes' own kinds.
fn plugins_for_kinds(assembly: &Assembly<'_>, configuration: AdmissionConfiguration) -> AdmissionChain {
    let (options, services) = (assembly.options, &assembly.stores.dependencies.services);
    let settings = AdmissionSettings {
        access: services.access.clone(),
        webhooks: services.webhooks.clone(),
        configuration,
        default_tolerations: options.admission.default_tolerations(),
        metrics: assembly.opened.metrics.resources().clone(),
        features: options.feature_gates().features(),
    };
    resources::admission::plugins(&assembly.stores.known, &settings)
}

/// Returns the callers of admission webhooks, with the credentials of the kubeconfigs that the configuration names.
fn callers(
    configuration: &AdmissionConfiguration,
    services: &Services,
    resolver: &Arc<ServiceResolver>,
    calls: TurnBounds,
) -> Result<webhooks::Callers, SettingsError> {
    let caller = |kubeconfig: &Option<PathBuf>| -> Result<Arc<dyn WebhookCaller>, SettingsError> {
        Ok(match kubeconfig {
            Some(path) => Arc::new(Webhooks::with_credentials(resolver.clone(), path, calls)?),
            None => services.webhooks.clone(),
        })
    };
    if let Some(WebhookTarget::Kubeconfig(path)) = configuration.image_policy_webhook() {
        // Only to refuse a file that cannot be used, before anything depends on it.
        Client::new(ClientSettings::from_kubeconfig(path)?)?;
    }
    Ok(webhooks::Callers {
        mutating: caller(&configuration.mutating_webhook_kubeconfig)?,
        validating: caller(&configuration.validating_webhook_kubeconfig)?,
    })
}
