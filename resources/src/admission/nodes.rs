//! Plug-ins for nodes: what they may write, and their first taint.

mod node_identity;
mod node_restriction;
mod not_ready_taint;

use registry_core::registry::InstalledApi;

use super::{AdmissionSettings, Plugins};

declare! {
    node_restriction::NodeRestriction: "NodeRestriction"
    not_ready_taint::NotReadyTaint: "TaintNodesByCondition"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_nodes(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let access = settings.access.clone();
        self.mutating(Some(not_ready_taint::NotReadyTaint));
        self.mutating(node_restriction::NodeRestriction::new(installed, access, settings.features));
    }
}
