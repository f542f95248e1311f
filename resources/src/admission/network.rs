//! Plug-ins for services and ingresses.

mod external_addresses;
mod ingress_class;

use registry_core::registry::InstalledApi;

use super::Plugins;

declare! {
    external_addresses::ExternalAddresses: "DenyServiceExternalIPs"
    ingress_class::DefaultIngressClass: "DefaultIngressClass"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_network(&mut self, installed: &InstalledApi) {
        self.mutating(ingress_class::DefaultIngressClass::new(installed));
        self.validating(Some(external_addresses::ExternalAddresses));
    }
}
