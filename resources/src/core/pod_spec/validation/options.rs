//! The violations that validation tolerates: an object may keep values that it had before a rule was made.

use registry_core::RequestContext;
use registry_core::context::ClusterPolicy;

use super::{affinity, annotations, resources, scheduling, security_context, visit_containers, volumes};
use crate::support::field::Field;

/// The circumstances of a validation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(super) policy: ClusterPolicy,
    /// Whether the object is a pod, not a template of pods.
    pub(super) is_pod: bool,
    pub(super) tolerates_deletion_cost: bool,
    pub(super) tolerates_selector_values: bool,
    pub(super) tolerates_node_affinity_values: bool,
    pub(super) tolerates_split_pages: bool,
    pub(super) tolerates_spread_selectors: bool,
    pub(super) tolerates_match_label_keys: bool,
    pub(super) tolerates_non_local_token_paths: bool,
    pub(super) tolerates_host_sysctls: bool,
    pub(super) tolerates_relabelling: bool,
    pub(super) tolerates_comparisons: bool,
    pub(super) tolerates_restarted_init: bool,
    pub(super) tolerates_devices_with_own_users: bool,
    pub(super) tolerates_host_network_with_own_users: bool,
}

// === impl Options ===

impl Options {
    /// Returns the options for a new object.
    pub(crate) fn new(context: &RequestContext, is_pod: bool) -> Self {
        Self { policy: context.policy, is_pod, ..Self::default() }
    }

    /// Returns the options for a change of an object with this metadata and spec.
    pub(crate) fn tolerating(self, metadata: &Field<'_, '_>, spec: &Field<'_, '_>) -> Self {
        let affinity = spec.get("affinity");
        let constraints = spec.get("topologySpreadConstraints");
        let context = spec.get("securityContext");
        let has_own_users = spec.get("hostUsers").truth() == Some(false);
        Self {
            tolerates_deletion_cost: !annotations::has_valid_cost(metadata),
            tolerates_selector_values: affinity::has_invalid_selector(&affinity),
            tolerates_node_affinity_values: affinity::has_invalid_node_value(&affinity),
            tolerates_split_pages: resources::splits_pages(spec),
            tolerates_spread_selectors: scheduling::has_invalid_selector(&constraints),
            tolerates_match_label_keys: scheduling::has_invalid_keys(&constraints),
            tolerates_non_local_token_paths: volumes::has_non_local_token_path(&spec.get("volumes")),
            tolerates_host_sysctls: security_context::has_host_sysctl(spec),
            tolerates_relabelling: context.get("seLinuxChangePolicy").exists(),
            tolerates_comparisons: has_comparison(&spec.get("tolerations")),
            tolerates_restarted_init: restarts_init(&spec.get("initContainers")),
            tolerates_devices_with_own_users: has_own_users && has_devices(spec),
            tolerates_host_network_with_own_users: has_own_users && spec.get("hostNetwork").is_true(),
            ..self
        }
    }
}

fn has_comparison(tolerations: &Field<'_, '_>) -> bool {
    tolerations.elements().any(|toleration| matches!(toleration.get("operator").text(), "Lt" | "Gt"))
}

fn restarts_init(containers: &Field<'_, '_>) -> bool {
    let restarts = |policy: Field<'_, '_>| policy.get("restartPolicy").text() == "RestartContainer";
    containers
        .elements()
        .filter(|container| container.get("restartPolicy").text() != "Always")
        .any(|container| container.get("resizePolicy").elements().any(restarts))
}

fn has_devices(spec: &Field<'_, '_>) -> bool {
    let mut found = false;
    visit_containers(spec, |container| found |= !container.get("volumeDevices").is_empty());
    found
}
