//! Admission plug-ins for concrete resources.
//!
//! Plug-ins read other objects only through the stores of the installed resources; the plug-ins of resources that are not
//! served are left out. A configuration is checked as a whole before the server starts.
//!
//! | module | contents |
//! |---|---|
//! | `configuration` | the file of `--admission-control-config-file`, with the settings of the plug-ins |
//! | `nodes` | the rights of nodes, and their first taint |
//! | `certificates` | the rights to approve and sign certificates |
//! | `pods` | the contents of pods |
//! | `placement` | node selectors, tolerations and topology of pods |
//! | `network` | services and ingresses |
//! | `resource_quota` | quotas |
//! | `storage` | volumes, claims and their classes |
//! | `event_rate_limit` | the rate of events |
//! | `namespaces` | writes to namespaces that do not exist |
//! | `owner_references` | rights on the owners of objects |
//! | `always` | a plug-in that refuses every write, for tests of clients |
//! | `without_effect` | the names of plug-ins for kinds that are off by default |
//! | `settings_error` | the errors of the settings of plug-ins |
//! | `refusal` | the errors of refused writes |
//!
//! Kubernetes concept: [admission
//! controllers](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

/// Declares plug-ins: their names, and the field with the objects that an informer keeps for them, if there is one.
macro_rules! declare {
    ($($plugin:ty: $name:literal $(, informed by $objects:ident)?)*) => {
        $(
            impl registry_core::admission::AdmissionPlugin for $plugin {
                fn name(&self) -> &'static str {
                    $name
                }

                $(
                    fn informers(&self) -> Vec<registry_core::registry::InformerTask> {
                        self.$objects.informer().into_iter().collect()
                    }
                )?
            }
        )*
    };
}

mod always;
mod certificates;
mod configuration;
mod event_rate_limit;
mod namespaces;
mod network;
mod nodes;
mod owner_references;
mod placement;
mod pods;
mod refusal;
mod resource_quota;
mod settings_error;
mod storage;
mod without_effect;

use std::sync::Arc;

use registry_core::admission::{AdmissionChain, MutatingAdmission, ValidatingAdmission};
use registry_core::features::Features;
use registry_core::registry::InstalledApi;
use registry_core::rest::access::{AccessReviewer, NoAccess};
use registry_core::rest::webhook::{NoWebhooks, WebhookCaller};

use crate::metrics::ResourceMetrics;
use without_effect::WithoutEffect;

pub use configuration::{AdmissionConfiguration, ConfigurationError};
pub use placement::DefaultTolerations;
pub use resource_quota::{QuotaHistory, QuotaTotals, QuotaUsage};

declare! {
    always::AlwaysDeny: "AlwaysDeny"
    event_rate_limit::EventRateLimit: "EventRateLimit"
    namespaces::AutoProvision: "NamespaceAutoProvision"
    namespaces::NamespaceExists: "NamespaceExists"
    owner_references::OwnerReferences: "OwnerReferencesPermissionEnforcement"
}

/// The settings of the plug-ins, and the services that they call.
#[derive(Clone)]
pub struct AdmissionSettings {
    /// Decides about users' access, for plug-ins that require further permissions than the permission for the write.
    pub access: Arc<dyn AccessReviewer>,
    /// Calls the service that decides about images.
    pub webhooks: Arc<dyn WebhookCaller>,
    /// The configuration of the plug-ins.
    pub configuration: AdmissionConfiguration,
    /// For how long pods stay on nodes that are not ready.
    pub default_tolerations: DefaultTolerations,
    /// The metrics of the plug-ins.
    pub metrics: ResourceMetrics,
    /// The enabled features.
    pub features: Features,
}

// === impl AdmissionSettings ===

impl Default for AdmissionSettings {
    /// Settings without a server: nobody has more permissions than the permission for the write.
    fn default() -> Self {
        Self {
            access: Arc::new(NoAccess),
            webhooks: Arc::new(NoWebhooks),
            configuration: AdmissionConfiguration::default(),
            default_tolerations: DefaultTolerations::default(),
            metrics: ResourceMetrics::default(),
            features: Features::default(),
        }
    }
}

/// Returns all plug-ins for the installed resources, those too that are off by default, in no particular order. Plug-ins
/// whose resources are not served are left out.
pub fn plugins(installed: &InstalledApi, settings: &AdmissionSettings) -> AdmissionChain {
    let mut plugins = Plugins::default();
    plugins.add_for_pods(installed, settings);
    plugins.add_for_placement(installed, settings);
    plugins.add_for_storage(installed);
    plugins.add_for_certificates(settings);
    plugins.add_for_nodes(installed, settings);
    plugins.add_for_network(installed);
    plugins.add_others(installed, settings);
    plugins.0
}

/// The plug-ins.
#[derive(Default)]
struct Plugins(AdmissionChain);

// === impl Plugins ===

impl Plugins {
    fn add_others(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let AdmissionConfiguration { event_rate_limits, limited_resources, .. } =
            settings.configuration.clone();
        self.mutating(namespaces::AutoProvision::new(installed));
        self.mutating(Some(always::AlwaysDeny));
        self.validating(namespaces::NamespaceExists::new(installed));
        self.validating(Some(owner_references::OwnerReferences(settings.access.clone())));
        self.validating(Some(event_rate_limit::EventRateLimit::new(event_rate_limits)));
        self.validating(resource_quota::ResourceQuota::new(installed, limited_resources));
        for name in without_effect::NAMES {
            self.validating(Some(WithoutEffect(name)));
        }
    }

    fn mutating(&mut self, plugin: Option<impl MutatingAdmission>) {
        self.0.mutating.extend(plugin.map(|plugin| Arc::new(plugin) as Arc<dyn MutatingAdmission>));
    }

    fn validating(&mut self, plugin: Option<impl ValidatingAdmission>) {
        self.0.validating.extend(plugin.map(|plugin| Arc::new(plugin) as Arc<dyn ValidatingAdmission>));
    }

    /// Adds one plug-in that is called twice: it may have an informer.
    fn both(&mut self, plugin: Option<impl MutatingAdmission + ValidatingAdmission>) {
        let Some(plugin) = plugin.map(Arc::new) else { return };
        self.0.mutating.push(plugin.clone());
        self.0.validating.push(plugin);
    }
}
