//! Plug-ins for what pods contain and use.

mod always_pull;
mod image_policy;
mod limit_ranger;
mod pod_resize;
mod pod_security;
mod priority;
pub(super) mod references;
mod runtime_class;
mod service_account;

use registry_core::registry::InstalledApi;

use super::{AdmissionSettings, Plugins};

pub(super) use image_policy::ImagePolicySettings;
pub(super) use pod_security::PodSecuritySettings;

declare! {
    always_pull::AlwaysPull: "AlwaysPullImages"
    image_policy::ImagePolicy: "ImagePolicyWebhook"
    pod_resize::PodResize: "PodResizeValidator"
    pod_security::PodSecurity: "PodSecurity"
    runtime_class::RuntimeClassAdmission: "RuntimeClass"
    service_account::ServiceAccountAdmission: "ServiceAccount"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_pods(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
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
}
