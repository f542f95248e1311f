//! Admission plug-ins for concrete resources.
//!
//! Kubernetes concept: [admission
//! controllers](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

mod always;
mod always_pull;
mod anti_affinity;
mod certificate_signers;
mod certificate_subject;
mod claim_resize;
mod configuration;
mod declared_features;
mod default_class;
mod event_rate_limit;
mod extended_toleration;
mod external_addresses;
mod image_policy;
mod ingress_class;
mod limit_ranger;
mod namespaces;
mod node_identity;
mod node_restriction;
mod node_selector;
mod not_ready_taint;
mod owner_references;
mod pod_resize;
mod pod_security;
mod priority;
mod references;
mod refusal;
mod resource_quota;
mod runtime_class;
mod service_account;
mod settings_error;
mod storage_class;
mod storage_protection;
mod toleration_restriction;
mod toleration_seconds;
mod tolerations;
mod topology_labels;
mod without_effect;

use std::sync::Arc;

use registry_core::admission::{
    AdmissionChain, AdmissionPlugin, Attributes, MutatingAdmission, Operation, ValidatingAdmission,
};
use registry_core::features::{Feature, Features};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use registry_core::rest::access::{AccessReviewer, NoAccess};
use registry_core::rest::webhook::{NoWebhooks, WebhookCaller};

use crate::metrics::ResourceMetrics;
use without_effect::WithoutEffect;

pub use configuration::{AdmissionConfiguration, ConfigurationError};
pub use resource_quota::{QuotaTotals, QuotaUsage};
pub use toleration_seconds::DefaultTolerations;

/// Names plug-ins that say nothing else about themselves.
macro_rules! named {
    ($($module:ident::$plugin:ident: $name:literal)*) => {
        $(
            impl AdmissionPlugin for $module::$plugin {
                fn name(&self) -> &'static str {
                    $name
                }
            }
        )*
    };
}

named! {
    always::AlwaysDeny: "AlwaysDeny"
    always_pull::AlwaysPull: "AlwaysPullImages"
    anti_affinity::AntiAffinityLimit: "LimitPodHardAntiAffinityTopology"
    certificate_signers::CertificateApproval: "CertificateApproval"
    certificate_signers::CertificateSigning: "CertificateSigning"
    certificate_signers::TrustBundleAttest: "ClusterTrustBundleAttest"
    certificate_subject::CertificateSubject: "CertificateSubjectRestriction"
    claim_resize::ClaimResize: "PersistentVolumeClaimResize"
    declared_features::DeclaredFeatures: "NodeDeclaredFeatureValidator"
    event_rate_limit::EventRateLimit: "EventRateLimit"
    extended_toleration::ExtendedToleration: "ExtendedResourceToleration"
    external_addresses::ExternalAddresses: "DenyServiceExternalIPs"
    image_policy::ImagePolicy: "ImagePolicyWebhook"
    ingress_class::DefaultIngressClass: "DefaultIngressClass"
    namespaces::AutoProvision: "NamespaceAutoProvision"
    namespaces::NamespaceExists: "NamespaceExists"
    node_restriction::NodeRestriction: "NodeRestriction"
    node_selector::NodeSelector: "PodNodeSelector"
    not_ready_taint::NotReadyTaint: "TaintNodesByCondition"
    owner_references::OwnerReferences: "OwnerReferencesPermissionEnforcement"
    pod_resize::PodResize: "PodResizeValidator"
    pod_security::PodSecurity: "PodSecurity"
    runtime_class::RuntimeClassAdmission: "RuntimeClass"
    service_account::ServiceAccountAdmission: "ServiceAccount"
    storage_class::DefaultStorageClass: "DefaultStorageClass"
    storage_protection::StorageProtection: "StorageObjectInUseProtection"
    toleration_restriction::TolerationRestriction: "PodTolerationRestriction"
    toleration_seconds::TolerationSeconds: "DefaultTolerationSeconds"
    topology_labels::TopologyLabels: "PodTopologyLabels"
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
    plugins.add_others(installed, settings);
    plugins.0
}

/// The plug-ins.
#[derive(Default)]
struct Plugins(AdmissionChain);

// === impl Plugins ===

impl Plugins {
    fn add_for_pods(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let configuration = &settings.configuration;
        let pod_security = configuration.pod_security.clone();
        let image_policy = configuration.image_policy.clone();
        self.both(limit_ranger::LimitRanger::new(installed));
        self.both(service_account::ServiceAccountAdmission::new(installed));
        self.both(priority::PriorityAdmission::new(installed));
        self.both(runtime_class::RuntimeClassAdmission::new(installed));
        self.both(Some(always_pull::AlwaysPull));
        self.validating(pod_security::PodSecurity::new(installed, pod_security, settings.metrics.clone()));
        self.validating(pod_resize::PodResize::new(installed));
        self.validating(Some(image_policy::ImagePolicy::new(image_policy, settings.webhooks.clone())));
    }

    fn add_for_placement(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let AdmissionConfiguration { tolerations, node_selector, .. } = settings.configuration.clone();
        self.mutating(Some(toleration_seconds::TolerationSeconds(settings.default_tolerations)));
        self.mutating(Some(extended_toleration::ExtendedToleration));
        if settings.features.contains(Feature::PodTopologyLabelsAdmission) {
            self.mutating(topology_labels::TopologyLabels::new(installed));
        }
        self.both(toleration_restriction::TolerationRestriction::new(installed, tolerations));
        self.both(node_selector::NodeSelector::new(installed, node_selector));
        if settings.features.contains(Feature::NodeDeclaredFeatures) {
            self.validating(declared_features::DeclaredFeatures::new(installed));
        }
        self.validating(Some(anti_affinity::AntiAffinityLimit));
    }

    fn add_for_storage(&mut self, installed: &InstalledApi) {
        self.mutating(storage_class::DefaultStorageClass::new(installed));
        self.mutating(Some(storage_protection::StorageProtection));
        self.validating(claim_resize::ClaimResize::new(installed));
    }

    fn add_for_certificates(&mut self, settings: &AdmissionSettings) {
        let access = || settings.access.clone();
        self.validating(Some(certificate_signers::CertificateApproval(access())));
        self.validating(Some(certificate_signers::CertificateSigning(access())));
        self.validating(Some(certificate_signers::TrustBundleAttest(access())));
        self.validating(Some(certificate_subject::CertificateSubject));
    }

    fn add_others(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let AdmissionConfiguration { event_rate_limits, limited_resources, .. } =
            settings.configuration.clone();
        self.mutating(Some(not_ready_taint::NotReadyTaint));
        self.mutating(node_restriction::NodeRestriction::new(
            installed,
            settings.access.clone(),
            settings.features,
        ));
        self.mutating(ingress_class::DefaultIngressClass::new(installed));
        self.mutating(namespaces::AutoProvision::new(installed));
        self.mutating(Some(always::AlwaysDeny));
        self.validating(namespaces::NamespaceExists::new(installed));
        self.validating(Some(owner_references::OwnerReferences(settings.access.clone())));
        self.validating(Some(external_addresses::ExternalAddresses));
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

/// Whether a write is to an object of this kind itself (not a subresource), by one of these operations.
fn concerns<R: Resource>(attributes: &Attributes<'_>, operations: &[Operation]) -> bool {
    attributes.subresource.is_empty()
        && attributes.resource.group_resource() == R::TYPE.group_resource()
        && operations.contains(&attributes.operation)
}
