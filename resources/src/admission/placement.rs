//! Plug-ins for the placement of pods: node selectors, tolerations and topology.
//!
//! | module | contents |
//! |---|---|
//! | `node_selector` | `PodNodeSelector`: the nodes of a namespace |
//! | `toleration_restriction` | `PodTolerationRestriction`: the tolerations of a namespace |
//! | `extended_toleration` | `ExtendedResourceToleration`: tolerations of nodes with extended resources |
//! | `toleration_seconds` | `DefaultTolerationSeconds`: how long pods stay on nodes that are not ready |
//! | `anti_affinity` | `LimitPodHardAntiAffinityTopology`: anti-affinity only between nodes |
//! | `topology_labels` | `PodTopologyLabels`: the labels of a pod's node |
//! | `declared_features` | `NodeDeclaredFeatureValidator`: the features that a pod's node declares |
//! | `tolerations` | sets of tolerations: merged, compared |

mod anti_affinity;
mod declared_features;
mod extended_toleration;
mod node_selector;
mod toleration_restriction;
mod toleration_seconds;
pub(super) mod tolerations;
mod topology_labels;

use registry_core::features::Feature;
use registry_core::registry::InstalledApi;

use super::{AdmissionSettings, Plugins};

pub(super) use node_selector::NodeSelectorSettings;
pub(super) use toleration_restriction::TolerationSettings;
pub use toleration_seconds::DefaultTolerations;

declare! {
    anti_affinity::AntiAffinityLimit: "LimitPodHardAntiAffinityTopology"
    declared_features::DeclaredFeatures: "NodeDeclaredFeatureValidator"
    extended_toleration::ExtendedToleration: "ExtendedResourceToleration"
    node_selector::NodeSelector: "PodNodeSelector"
    toleration_restriction::TolerationRestriction: "PodTolerationRestriction"
    toleration_seconds::TolerationSeconds: "DefaultTolerationSeconds"
    topology_labels::TopologyLabels: "PodTopologyLabels"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_placement(&mut self, installed: &InstalledApi, settings: &AdmissionSettings) {
        let tolerations = settings.configuration.tolerations.clone();
        let node_selector = settings.configuration.node_selector.clone();
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
}
