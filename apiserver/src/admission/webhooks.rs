//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: services outside of this process that may change or refuse
//! a write.
//!
//! | module | contents |
//! |---|---|
//! | `configuration` | the registered webhooks, compiled once per change |
//! | `selection` | which webhooks a write is sent to |
//! | `review` | the request that a webhook receives |
//! | `answer` | what it answers |
//! | `call` | one call, and how it fails |
//! | `patch` | the change that a mutating webhook asks for |
//! | `mutating`, `validating` | the plug-ins |
//!
//! The webhooks of files are called first, as part of the same list. They alone are called for the objects that configure
//! admission.
//!
//! A server without webhooks spends one atomic read on a write. While the registered webhooks are not known yet, writes wait,
//! and are refused if that takes too long: a server that has just started skips no webhook.
//!
//! What a webhook does wrong (hangs, answers something else, asks for an impossible change) fails the one write, or is ignored
//! if its `failurePolicy` says so. Time, size and number of calls are bounded by [`WebhookCaller`].
//!
//! Kubernetes concept: [dynamic admission control](https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).

use std::sync::Arc;

use registry_core::registry::{InstalledApi, Services};
use registry_core::resource::Resource as _;
use registry_core::rest::access::AccessReviewer;
use registry_core::rest::webhook::WebhookCaller;
use resources::api::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations;
use resources::api::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations;

use crate::metrics::AdmissionMetrics;

use super::AdmissionChain;
use super::manifests::{FollowTasks, ManifestDirectories, ManifestPlugin};
use super::matching::Matcher;

mod answer;
mod call;
mod configuration;
mod mutating;
mod patch;
mod review;
mod selection;
#[cfg(test)]
mod tests;
mod validating;

use configuration::Configurations;
use mutating::MutatingAdmissionWebhook;
use validating::ValidatingAdmissionWebhook;

/// The dependencies of both plug-ins.
struct Dependencies {
    matcher: Matcher,
    caller: Arc<dyn WebhookCaller>,
    access: Arc<dyn AccessReviewer>,
    metrics: AdmissionMetrics,
}

/// Calls the webhooks of each plug-in, with the credentials that are configured for it.
pub(crate) struct Callers {
    /// Calls mutating webhooks.
    pub(crate) mutating: Arc<dyn WebhookCaller>,
    /// Calls validating webhooks.
    pub(crate) validating: Arc<dyn WebhookCaller>,
}

/// Returns both plug-ins, unless their configurations are not served, and adds the tasks that follow their directories.
pub(crate) fn plugins(
    installed: &InstalledApi,
    services: &Services,
    callers: Callers,
    metrics: &AdmissionMetrics,
    (directories, tasks): (&mut ManifestDirectories, &mut FollowTasks),
) -> AdmissionChain {
    let dependencies = |caller: Arc<dyn WebhookCaller>| {
        Arc::new(Dependencies {
            matcher: Matcher::new(installed),
            caller,
            access: services.access.clone(),
            metrics: metrics.clone(),
        })
    };
    let mut configurations = |store, plugin| {
        let configurations = Configurations::from_store(store);
        let directory = directories.take(plugin);
        tasks.extend(directory.map(|directory| configurations.follow(directory, metrics.manifests())));
        configurations
    };
    let mut chain = AdmissionChain::default();
    if let Some(store) = installed.store(MutatingWebhookConfigurations::TYPE) {
        let configurations = configurations(store, ManifestPlugin::MutatingWebhooks);
        let dependencies = dependencies(callers.mutating);
        chain.mutating.push(Arc::new(MutatingAdmissionWebhook::new(configurations, dependencies)));
    }
    if let Some(store) = installed.store(ValidatingWebhookConfigurations::TYPE) {
        let configurations = configurations(store, ManifestPlugin::ValidatingWebhooks);
        let dependencies = dependencies(callers.validating);
        chain.validating.push(Arc::new(ValidatingAdmissionWebhook::new(configurations, dependencies)));
    }
    chain
}
