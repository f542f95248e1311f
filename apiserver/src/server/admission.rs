//! The admission plug-ins of a server.

use std::sync::Arc;

use registry_core::registry::{InstalledApi, Services};
use resources::admission::AdmissionSettings;

use crate::admission::{AdmissionChain, NamespaceLifecycle, add_policies, webhooks};
use crate::metrics::AdmissionMetrics;
use crate::options::{Options, OptionsError};

/// Returns the plug-ins that are installed and enabled, in the order in which they run.
///
/// # Errors
/// Fails if an option names a plug-in that does not exist.
pub(super) fn chain(
    installed: &InstalledApi,
    services: &Services,
    metrics: &AdmissionMetrics,
    options: &Options,
) -> Result<AdmissionChain, OptionsError> {
    let mut chain = AdmissionChain::default();
    if let Some(lifecycle) = NamespaceLifecycle::new(installed) {
        chain.mutating.push(Arc::new(lifecycle));
    }
    let settings = AdmissionSettings {
        access: services.access.clone(),
        webhooks: services.webhooks.clone(),
        configuration: options.admission.configuration()?,
        default_tolerations: options.admission.default_tolerations(),
    };
    let webhooks = webhooks::plugins(installed, services, metrics);
    for plugins in [resources::admission::plugins(installed, &settings), webhooks] {
        chain.mutating.extend(plugins.mutating);
        chain.validating.extend(plugins.validating);
    }
    add_policies(&mut chain, installed, &services.access);
    options.admission.apply(&mut chain)?;
    Ok(chain)
}
